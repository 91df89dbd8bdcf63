"""What an arm weighs
==================

An arm is heavier than its URDF says, and rubs. A motion that tells, and what it told.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

described = md.load_robot("ibm7535")
arm = md.load_robot("ibm7535", mass_scale=1.2, coulomb_friction=[0.4, 0.3])

# %%
# A periodic motion within the limits whose efforts tell masses apart, and the log of it: encoders
# and torque sensors, both with noise.
course = md.plan_excitation(described, iterations=60)
print("condition number below 10:", course.condition < 10.0)
# -> condition number below 10: True
t = np.arange(0.0, course.period, 0.002)
q, v, a = course.at(t)
rng = np.random.default_rng(0)
tau = np.array([md.customize(arm).inverse_dynamics(*state) for state in zip(q, v, a, strict=True)])
tau += 0.2 * rng.normal(size=tau.shape)
q += 1e-5 * rng.normal(size=q.shape)

# %%
# Base parameters: as many combinations of masses, inertias and friction as efforts tell apart.
found = md.identify(described, t=t, q=q, tau=tau)
k = found.names.index("elbow mx")  # kg m: mass times centre of mass, forearm and load
print("the forearm is 20 % heavier:", abs(found.values[k] / found.described[k] - 1.2) < 0.02)
# -> the forearm is 20 % heavier: True

figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
axes.plot(t, tau[:, 1], color="0.8", label="measured")
axes.plot(t, found.inverse_dynamics(*course.at(t))[:, 1], label="identified")
axes.set(title="effort of the elbow", xlabel="time [s]", ylabel="[N m]")
axes.legend()
plt.show()
