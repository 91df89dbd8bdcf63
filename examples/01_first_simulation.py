"""First simulation
================

Simulate the fall of a two-link arm and check the conservation of energy.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

# %%
# The shipped robot ``rr`` has point masses at the ends of two links of 1 m and 0.8 m, and motor
# inertias. It moves in a vertical plane without friction. The efforts are zero.
robot = md.load_robot("rr")
fall = md.simulate(robot, q0=[0.0, 1.5], v0=[0.0, 0.0], effort=[0.0, 0.0], duration=1.5)
print(fall.success, fall.reason)
# -> True the whole duration was simulated

# %%
# The exact sum of kinetic and potential energy is constant. The residual is due to the integrator,
# here the classical Runge-Kutta method with steps of 1 ms.
kinetic, potential, work, residual = fall.energy.T
print(f"peak {kinetic.max():.1f} J, residual below 1e-6 J:", bool(np.abs(residual).max() < 1e-6))
# -> peak 159.6 J, residual below 1e-6 J: True

# %%
# Plot the arm every 50 ms, from light to dark.
figure, (side, plot) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for i in range(0, len(fall.t), 50):
    first, second = fall.q[i, 0], fall.q[i].sum()
    x = np.cumsum([0.0, np.cos(first), 0.8 * np.cos(second)])
    z = np.cumsum([0.0, np.sin(first), 0.8 * np.sin(second)])
    side.plot(x, z, "o-", color=plt.cm.viridis_r(i / len(fall.t)), lw=2, ms=4)
side.set(title="the arm every 50 ms", xlabel="x [m]", ylabel="z [m]", aspect="equal")
plot.plot(fall.t, np.column_stack([kinetic, potential, kinetic + potential]))
plot.set(title="energy", xlabel="time [s]", ylabel="J")
plot.legend(["kinetic", "potential", "sum"])
plt.show()
