"""Comparison of three controllers
===============================

Compare minimum time, zero net work and PD control for one arm, with the same limits and goal.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

arm = md.load_robot("ibm7535")
start, goal, rest = np.array([0.975, 0.0]), np.zeros(2), np.zeros(2)
p, d = np.array([200.0, 120.0]), np.array([70.0, 24.0])  # best gains of a coarse search


def pd(t, q, v):
    return p * (goal - q) - d * v  # saturated at the effort limits by the simulation


motions, times = {}, {}
for name, plan in {
    "minimum time": md.plan_minimum_time(arm, start, goal),
    "zero net work": md.plan_zero_net_work(arm, start, goal),
}.items():
    t = np.linspace(0.0, plan.t_final, 200)
    motions[name], times[name] = (t, np.array([plan.state(time)[0] for time in t])), plan.t_final

trajectory = md.simulate(arm, start, rest, pd, 3.0)
motions["PD"] = trajectory.t, trajectory.q
error = np.abs(np.column_stack([trajectory.q - goal, trajectory.v])).max(axis=1)
times["PD"] = trajectory.t[error > 1e-2][-1]  # afterwards within 0.01 rad and 0.01 rad/s

for name, time in times.items():
    print(f"{name:14} {time:.3f} s")
# -> minimum time   1.082 s
# -> zero net work  1.150 s
# -> PD             1.936 s

figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6), layout="constrained")
for name, (t, q) in motions.items():
    for plot, joint in zip(axes, q.T, strict=True):
        plot.plot(t, joint, label=f"{name}, {times[name]:.2f} s")
axes[0].set(title="three motions of the IBM 7535", ylabel="shoulder [rad]")
axes[1].set(xlabel="time [s]", ylabel="elbow [rad]", xlim=(0.0, 2.2))
axes[0].legend()
plt.show()
