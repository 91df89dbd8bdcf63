"""A sweep: how late may a command be?
===================================

A plan in closed loop, over delays and wrong masses: every case is a row, also where it fails.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md
from manip_dyn.ensembles.sweeps import Conditions, execute

arm = md.load_robot("ibm7535")
plan = md.plan_minimum_time(arm, q0=[0.3, 0.2], qf=[0.0, 0.0])


def late(delay, mass_scale):
    """Execute the plan by an executor that takes commands to act at once."""
    run = execute(plan, Conditions(mass_scale, delay=delay, assumed_delay=0.0, duration=4.0))
    return {"error": np.abs(run.q[-1]).max(), "success": run.success, "reason": run.reason}


cases = md.Cases.grid(delay=np.linspace(0.0, 0.03, 16), mass_scale=[0.9, 1.0, 1.1])
result = md.sweep(late, cases, workers=1)
for delay in (0.0, 0.03):
    arrived = result.column("success")[result.column("delay") == delay]
    print(f"{1e3 * delay:.0f} ms late: {arrived.sum()} of {len(arrived)} arrive")
# -> 0 ms late: 3 of 3 arrive
# -> 30 ms late: 0 of 3 arrive

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for scale in (0.9, 1.0, 1.1):
    own = result.column("mass_scale") == scale
    delay, error = 1e3 * result.column("delay")[own], result.column("error")[own]
    axes.semilogy(delay, error, ".-", label=scale)
axes.set(title="after 4 s", xlabel="delay [ms]", ylabel="error [rad]")
axes.legend(title="factor of masses")
plt.show()
