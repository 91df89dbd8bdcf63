"""Zero net work
=============

Plan a motion from rest to rest with efforts at their limits and one switch per joint.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

arm = md.load_robot("ibm7535")
plan = md.plan_zero_net_work(arm, q0=[0.76, 0.2618], qf=[0.0, 0.0])
print(plan.status, f"{plan.t_final:.5f} s, switches at {np.round(plan.switch_times, 5).tolist()}")
# -> solved 1.05855 s, switches at [[0.52928], [0.21277]]

# %%
# The net work on each link is zero, because the links are at rest at the start and at the end.
# This condition determines the switching times.
print("no net work:", bool(np.abs(plan.net_work).max() < 1e-9 * plan.peak_work))
# -> no net work: True

work_time, work = plan.work_curves
t = np.linspace(0.0, plan.t_final, 500)
figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6), layout="constrained")
axes[0].plot(t, [plan.effort(time) for time in t], label=plan.joint_names)
axes[0].set(title="IBM 7535 from (0.76, 0.26) to (0, 0) rad", ylabel="effort [N m]")
axes[0].legend()
axes[1].plot(work_time, work, label=["on link 1", "on link 2"])
axes[1].axhline(0.0, color="grey", lw=0.8)
axes[1].set(xlabel="time [s]", ylabel="work [J]")
axes[1].legend()
plt.show()
