"""Identification
==============

Identify the masses and the friction of an arm that is heavier than its URDF.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

described = md.load_robot("ibm7535")
arm = md.load_robot("ibm7535", mass_scale=1.2, coulomb_friction=[0.4, 0.3])

# %%
# Plan a periodic excitation within the limits, and simulate the log of encoders and torque sensors
# with noise.
excitation = md.plan_excitation(described, iterations=60)
print("condition number below 10:", excitation.condition < 10.0)
# -> condition number below 10: True
t = np.arange(0.0, excitation.period, 0.002)
q, v, a = excitation.at(t)
rng = np.random.default_rng(0)
tau = np.array([md.customize(arm).inverse_dynamics(*state) for state in zip(q, v, a, strict=True)])
tau += 0.2 * rng.normal(size=tau.shape)
q += 1e-5 * rng.normal(size=q.shape)

# %%
# Base parameters are the identifiable combinations of masses, inertias and friction.
result = md.identify(described, t=t, q=q, tau=tau)
k = result.names.index("elbow mx")  # kg m: mass times centre of mass, forearm and load
print("the forearm is 20 % heavier:", abs(result.values[k] / result.described[k] - 1.2) < 0.02)
# -> the forearm is 20 % heavier: True

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(t, tau[:, 1], color="0.8", label="measured")
axes.plot(t, result.inverse_dynamics(*excitation.at(t))[:, 1], label="identified")
axes.set(title="effort of the elbow", xlabel="time [s]", ylabel="[N m]")
axes.legend()
plt.show()
