"""Redundancy
==========

Follow a path with seven joints. A null-space task prevents drift from lap to lap.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

robot = md.load_robot("pa10")
tool = np.array([[1.0, 0.0, 1.0], [0.0, 2.0**0.5, 0.0], [-1.0, 0.0, 1.0]]) / 2.0**0.5
circle = md.Circle([0.0, 0.4, 0.6], [0, 1, 0], [-1, 0, 0], tool, 0.04, 0.4)
guess = [2.69, 0.51, -0.24, 1.42, 0.87, -2.41, -2.0]
start = md.posture_for(robot, circle.pose(0.0), guess)
laps = 3 * circle.duration

free = md.track(robot, circle, step=0.05, q0=start, duration=laps)
posture = md.ClikSettings(posture=start, posture_gain=1.0)
fixed = md.track(robot, circle, step=0.05, q0=start, duration=laps, settings=posture)

# %%
# The tool follows the circle in both runs, but the change of the joint positions per lap differs.
for name, run in ("free", free), ("posture", fixed):
    print(f"{name:8}", *(f"{np.abs(lap).max():.4f} rad" for lap in run.drift))
# -> free     0.0692 rad 0.0772 rad 0.0892 rad
# -> posture  0.0018 rad 0.0000 rad 0.0000 rad

print("tool on the circle:", free.success, fixed.success)
# -> tool on the circle: True True

figure, axes = plt.subplots(1, 2, sharey=True, figsize=(9, 3.8), layout="constrained")
for plot, run, title in zip(axes, (free, fixed), ("free", "posture task"), strict=True):
    plot.plot(run.q[:, 1], run.q[:, 3], lw=1.2)
    plot.plot(*run.q[0, [1, 3]], "ko", ms=5)
    plot.set(title=title, xlabel="S2 [rad]")
axes[0].set(ylabel="E1 [rad]")
plt.show()
