"""Minimum time and its certificate
================================

Plan a time-optimal motion and check the residuals of Pontryagin's conditions.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

arm = md.load_robot("ibm7535")
plan = md.plan_minimum_time(arm, q0=[0.76, 0.2618], qf=[0.0, 0.0])
print(plan.status, f"{plan.t_final:.5f} s")
print("switches:", *(np.round(times, 4) for times in plan.switch_times))
# -> solved 1.00539 s
# -> switches: [0.5027] [0.075  0.5446]

# %%
# Each effort has the sign required by its switching function, the Hamiltonian is zero, and the arm
# ends at rest. These conditions are necessary for minimum time.
certificate = plan.certificate
print("holds:", certificate.holds, "| Hamiltonian below 1e-9:", certificate.hamiltonian < 1e-9)
# -> holds: True | Hamiltonian below 1e-9: True

# %%
# The conditions do not exclude a faster motion with a different structure. The certificate
# documents the search for such motions.
print(
    f"{certificate.searched.guesses} guesses, distinct extremals: {certificate.searched.extremals}"
)
# -> 21 guesses, distinct extremals: 1

t = np.linspace(0.0, plan.t_final, 600)
figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6), layout="constrained")
axes[0].plot(t, [plan.effort(time) for time in t], label=plan.joint_names)
axes[0].set(title="time-optimal motion of the IBM 7535", ylabel="effort [N m]")
axes[0].legend()
axes[1].plot(certificate.times, certificate.switching / np.abs(certificate.switching).max(axis=0))
axes[1].axhline(0.0, color="grey", lw=0.8)
axes[1].set(xlabel="time [s]", ylabel="switching function\n(normalized)")
plt.show()
