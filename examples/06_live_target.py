"""A moving target
===============

Change the goal of the tool during a motion. The tool velocity remains continuous.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

robot = md.load_robot("pa10")
q0 = np.array([0.0, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0])
pose = md.customize(robot).forward_kinematics(q0)
position, rotation = pose[:3, 3], pose[:3, :3]
goals = position + np.array([[-0.2, 0.0, 0.1], [0.0, 0.2, 0.0], [0.0, -0.2, 0.0], [0.0, 0.0, 0.0]])

# %%
# The target moves to its goal within speed and acceleration limits. The follower performs one step
# per period, like the tracker node. The goal may change at any time.
step = 0.01  # s
target = md.SmoothTarget((position, rotation))
follower = md.PathFollower(robot, target, q0, step)
t, rows = step * np.arange(1, 801), []
for i in range(len(t)):
    if i % 200 == 0:
        target.aim((goals[i // 200], rotation))
    target.advance(follower.path_time, step, follower.sample().actual)
    sample = follower.step()
    rows.append([*sample.actual.position, *sample.v])
tool, speeds = np.split(np.array(rows), [3], axis=1)

error = np.linalg.norm(tool[199::200] - goals, axis=1).max()
print(f"error at the goals below {1e3 * error:.2f} mm")
# -> error at the goals below 1.11 mm
print(f"largest change per step {np.abs(np.diff(speeds, axis=0)).max():.3f} rad/s")
# -> largest change per step 0.026 rad/s

figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6), layout="constrained")
for i, name in enumerate("xyz"):
    axes[0].step(t[::200], goals[:, i], "--", color=f"C{i}", lw=1, where="post")
    axes[0].plot(t, tool[:, i], color=f"C{i}", label=name)
axes[0].set(title="goals (dashed) and tool", ylabel="m")
axes[0].legend(loc="right")
axes[1].plot(t, speeds, lw=1)
axes[1].set(xlabel="time [s]", ylabel="joint speeds [rad/s]")
plt.show()
