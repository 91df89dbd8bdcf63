"""A sweep over delays
===================

Execute a plan in closed loop with different delays and mass errors.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md
from manip_dyn.ensembles.sweeps import Conditions, execute

arm = md.load_robot("ibm7535")
plan = md.plan_minimum_time(arm, q0=[0.3, 0.2], qf=[0.0, 0.0])


def execute_late(delay, mass_scale):
    """Execute the plan with an executor that does not compensate the delay."""
    run = execute(plan, Conditions(mass_scale, delay=delay, assumed_delay=0.0, duration=4.0))
    return {"error": np.abs(run.q[-1]).max(), "success": run.success, "reason": run.reason}


cases = md.Cases.grid(delay=np.linspace(0.0, 0.03, 7), mass_scale=[0.9, 1.0, 1.1])
result = md.sweep(execute_late, cases, workers=1)
for delay in (0.0, 0.03):
    arrived = result.column("success")[result.column("delay") == delay]
    print(f"delay {1e3 * delay:.0f} ms: {arrived.sum()} of {len(arrived)} arrive")
# -> delay 0 ms: 3 of 3 arrive
# -> delay 30 ms: 0 of 3 arrive

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for scale in (0.9, 1.0, 1.1):
    rows = result.column("mass_scale") == scale
    delay, error = 1e3 * result.column("delay")[rows], result.column("error")[rows]
    axes.semilogy(delay, error, ".-", label=scale)
axes.set(title="after 4 s", xlabel="delay [ms]", ylabel="error [rad]")
axes.legend(title="mass factor")
plt.show()
