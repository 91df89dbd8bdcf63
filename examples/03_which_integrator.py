"""Comparison of integrators
=========================

Compare how many evaluations of the dynamics each method needs for a given accuracy.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

robot = md.load_robot("rr")
start, rest, effort = [0.0, 0.5], [0.0, 0.0], [0.0, 0.0]


def fall(**settings):
    return md.simulate(robot, start, rest, effort, 2.0, sample_period=2.0, **settings)


exact = fall(method="taylor", rtol=1e-15).q[-1]
costs = {}
for method in "rk4", "rkdp54", "rkdp87":
    costs[method] = []
    for k in range(4, 13):
        settings = {"step": 0.2 * 2.0**-k * 8} if method == "rk4" else {"rtol": 10.0**-k}
        motion = fall(method=method, **settings)
        error = np.abs(motion.q[-1] - exact).max()
        costs[method].append((motion.statistics.evaluations, error))

# %%
# Smallest number of evaluations in these runs for an error below 1e-6 rad.
for method, points in costs.items():
    count = min(evaluations for evaluations, error in points if error < 1e-6)
    print(f"{method:7} about {float(f'{count:.2g}'):.0f} evaluations")
# -> rk4     about 1300 evaluations
# -> rkdp54  about 510 evaluations
# -> rkdp87  about 210 evaluations

for method, points in costs.items():
    plt.loglog(*np.transpose(points), "o-", label=method)
plt.gcf().set(size_inches=(7, 4.2), layout_engine="constrained")
plt.gca().set(title="fall of two links over 2 s", xlabel="evaluations", ylabel="error [rad]")
plt.legend()
plt.show()
