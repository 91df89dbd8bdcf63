"""Collisions in a bin
===================

Prove that a motion into a bin with walls touches nothing at any time.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

arm = md.load_robot("ibm7535")
scene = md.Scene()
for name, size, position in (
    ("left wall", [0.28, 0.02, 0.4], [0.64, 0.14, 0.6]),
    ("right wall", [0.28, 0.02, 0.4], [0.64, -0.14, 0.6]),
    ("back wall", [0.02, 0.3, 0.4], [0.79, 0.0, 0.6]),
):
    scene = scene.add(name, md.Box(size), position)

# %%
# The plan with zero net work hits a wall. The fastest plan folds its elbow and passes.
start, goal = [1.3, -0.4], [0.0, 0.0]
plans = [plan(arm, start, goal) for plan in (md.plan_zero_net_work, md.plan_minimum_time)]
results = [plan.clearance(scene) for plan in plans]
print([result.status for result in results], "hit:", results[0].pair[1])
# -> ['collision', 'clear'] hit: left wall
print(f"the fastest plan is proved to keep {1e3 * results[1].least:.0f} mm from the walls")
# -> the fastest plan is proved to keep 19 mm from the walls

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
poses = md.customize(arm).forward_kinematics
for motion, result, colour in zip(plans, results, ("C3", "C0"), strict=True):
    times = np.linspace(0.0, motion.t_final, 120)
    distances = [md.clearance(arm, motion.state(t)[0], scene).distance for t in times]
    axes[0].plot(*np.array([poses(motion.state(t)[0])[:2, 3] for t in times]).T, colour)
    axes[1].plot(times, distances, colour, label=result.status)
    axes[1].plot(result.time, result.distance, "o", color=colour)
for entry in scene.objects.values():
    corner = entry.position[:2] - 0.5 * entry.shape.size[:2]
    axes[0].add_patch(plt.Rectangle(corner, *entry.shape.size[:2], color="0.4"))
axes[0].set(title="tool, from above", xlabel="x [m]", ylabel="y [m]", aspect="equal")
axes[1].set(title="distance to the bin and the arm itself", xlabel="time [s]", ylabel="[m]")
axes[1].legend()
plt.show()
