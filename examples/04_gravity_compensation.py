"""Gravity compensation
====================

A controller of your own is a function of time, positions and velocities.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

robot = md.load_robot("rr")
kernels = md.customize(robot)
damping = np.array([40.0, 20.0])  # N m s/rad
start, pushed = np.array([0.4, -1.2]), np.array([2.0, -1.0])


def hold_and_damp(t, q, v):
    return kernels.inverse_dynamics(q, 0.0 * v, 0.0 * v) - damping * v


# %%
# The weight at every posture is what inverse dynamics asks for without any motion. The arm is
# pushed at the start, and comes to rest where the push has brought it.
held = md.simulate(robot, start, pushed, hold_and_damp, 5.0, step=5e-3)
moved = np.round(held.q[-1] - start, 3)
print("at rest:", bool(np.abs(held.v[-1]).max() < 1e-3), "moved by", moved, "rad")
# -> at rest: True moved by [0.623 0.461] rad

# %%
# The law that only holds is there ready made, and compiled. Nothing brakes: the arm drifts on
# with the energy of the push.
drifting = md.simulate(robot, start, pushed, md.gravity_compensation(kernels), 5.0, step=5e-3)
kinetic = drifting.energy[:, 0]
print(f"kinetic energy: {kinetic[0]:.4f} J, at the end {kinetic[-1]:.4f} J")
# -> kinetic energy: 21.6236 J, at the end 21.6236 J

figure, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 3.6), layout="constrained")
for plot, run, title in zip(axes, (drifting, held), ("held", "held and damped"), strict=True):
    plot.plot(run.t, run.q, label=robot.joint_names)
    plot.set(title=title, xlabel="time [s]")
axes[0].set(ylabel="position [rad]")
axes[0].legend()
plt.show()
