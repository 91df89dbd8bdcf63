"""Zero net work
=============

From rest to rest with efforts at their limits: one switch per joint, and no work is left over.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

arm = md.load_robot("ibm7535")
plan = md.plan_zero_net_work(arm, q0=[0.76, 0.2618], qf=[0.0, 0.0])
print(plan.status, f"{plan.t_final:.5f} s, switches at {np.round(plan.switch_times, 5).tolist()}")
# -> solved 1.05855 s, switches at [[0.52928], [0.21277]]

# %%
# The work done on each link rises while its joint is driven, and comes back to zero: a link that
# rests at the end holds none of it. That is the condition that the switches are found from.
print("no net work:", bool(np.abs(plan.net_work).max() < 1e-9 * plan.peak_work))
# -> no net work: True

time, work = plan.work_curves
t = np.linspace(0.0, plan.t_final, 500)
figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6), layout="constrained")
axes[0].plot(t, [plan.effort(each) for each in t], label=plan.joint_names)
axes[0].set(title="the IBM 7535 from (0.76, 0.26) to (0, 0) rad", ylabel="effort [N m]")
axes[0].legend()
axes[1].plot(time, work, label=["on link 1", "on link 2"])
axes[1].axhline(0.0, color="grey", lw=0.8)
axes[1].set(xlabel="time [s]", ylabel="work [J]")
axes[1].legend()
plt.show()
