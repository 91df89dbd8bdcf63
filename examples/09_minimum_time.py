"""Minimum time and its certificate
================================

No faster motion exists nearby: Pontryagin's conditions, in numbers that you can check.
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
# Each effort has the sign that its switching function asks for, at every moment; the Hamiltonian
# is zero; the arm arrives at rest. These conditions are necessary for minimum time.
proof = plan.certificate
print("holds:", proof.holds, "| Hamiltonian below 1e-9:", proof.hamiltonian < 1e-9)
# -> holds: True | Hamiltonian below 1e-9: True

# %%
# They do not say that nothing else far away is faster: the certificate tells what was searched.
print(f"{proof.searched.guesses} guesses, different extremals: {proof.searched.extremals}")
# -> 13 guesses, different extremals: 1

t = np.linspace(0.0, plan.t_final, 600)
figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6), layout="constrained")
axes[0].plot(t, [plan.effort(each) for each in t], label=plan.joint_names)
axes[0].set(title="the fastest motion of the IBM 7535", ylabel="effort [N m]")
axes[0].legend()
axes[1].plot(proof.times, proof.switching / np.abs(proof.switching).max(axis=0))
axes[1].axhline(0.0, color="grey", lw=0.8)
axes[1].set(xlabel="time [s]", ylabel="switching function\n(over its largest)")
plt.show()
