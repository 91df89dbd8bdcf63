"""Your own URDF
=============

Load a URDF from a file or a string: a crane with a trolley that slides along its jib.
"""

import matplotlib.pyplot as plt

import manip_dyn as md

CRANE = """<robot name="crane"><link name="base"/>
<joint name="slew" type="revolute"><parent link="base"/><child link="jib"/><axis xyz="0 0 1"/>
  <limit lower="-3" upper="3" velocity="2" effort="400"/><dynamics damping="5"/></joint>
<link name="jib"><inertial><origin xyz="2 0 0"/><mass value="60"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="80" iyz="0" izz="80"/></inertial></link>
<joint name="trolley" type="prismatic"><parent link="jib"/><child link="load"/><axis xyz="1 0 0"/>
  <limit lower="0.5" upper="4" velocity="2" effort="200"/></joint>
<link name="load"><inertial><mass value="30"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
</robot>"""

robot = md.load_robot(CRANE)  # or md.load_robot("crane.urdf")
print(robot.joint_names, robot.joint_types)
# -> ('slew', 'trolley') ('revolute', 'prismatic')

# %%
# The kernels contain the constants of this robot. The inertia about the base grows with the square
# of the distance of the trolley, whose mass is 30 kg.
kernels = md.customize(robot)
for distance in 1.0, 3.0:
    print(f"at {distance} m:", kernels.mass_matrix([0.0, distance]).diagonal())
# -> at 1.0 m: [351.  30.]
# -> at 3.0 m: [591.  30.]

# %%
# With 300 N m on the slewing joint, the trolley slides outwards to the end of the jib.
run = md.simulate(robot, [0.0, 1.0], [0.0, 0.0], [300.0, 0.0], 5.0, stop_at_limits=True)
print(run.reason)
# -> joint 'trolley' reached its upper limit at 2.577614 s

figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4), layout="constrained")
axes[0].plot(run.t, run.v[:, 0])
axes[0].set(title="slewing crane", ylabel="slewing rate [rad/s]")
axes[1].plot(run.t, run.q[:, 1], color="C1")
axes[1].axhline(robot.q_max[1], color="grey", ls=":", label="end of the jib")
axes[1].set(xlabel="time [s]", ylabel="trolley [m]")
axes[1].legend()
plt.show()
