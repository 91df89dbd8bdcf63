"""Gravity compensation
====================

Simulate an arm with a control law, a function of time, positions and velocities.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

robot = md.load_robot("rr")
kernels = md.customize(robot)
damping = np.array([40.0, 20.0])  # N m s/rad
start, velocity = np.array([0.4, -1.2]), np.array([2.0, -1.0])


def hold_and_damp(t, q, v):
    return kernels.inverse_dynamics(q, 0.0 * v, 0.0 * v) - damping * v


# %%
# For an arm at rest, inverse dynamics yields the gravity efforts. The arm starts with a velocity
# and comes to rest in a different posture.
damped = md.simulate(robot, start, velocity, hold_and_damp, 5.0, step=5e-3)
displacement = np.round(damped.q[-1] - start, 3)
print("at rest:", bool(np.abs(damped.v[-1]).max() < 1e-3), "displacement", displacement, "rad")
# -> at rest: True displacement [0.623 0.461] rad

# %%
# ``md.gravity_compensation`` is a compiled law without damping, so the kinetic energy is constant.
undamped = md.simulate(robot, start, velocity, md.gravity_compensation(kernels), 5.0, step=5e-3)
kinetic = undamped.energy[:, 0]
print(f"kinetic energy: {kinetic[0]:.4f} J, at the end {kinetic[-1]:.4f} J")
# -> kinetic energy: 21.6236 J, at the end 21.6236 J

figure, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 3.6), layout="constrained")
runs = {"gravity compensation": undamped, "with damping": damped}
for plot, (title, run) in zip(axes, runs.items(), strict=True):
    plot.plot(run.t, run.q, label=robot.joint_names)
    plot.set(title=title, xlabel="time [s]")
axes[0].set(ylabel="position [rad]")
axes[0].legend()
plt.show()
