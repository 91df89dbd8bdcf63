"""A closed loop
=============

Simulate a four-bar linkage in Cartesian coordinates with constraints.
"""

import matplotlib.pyplot as plt

import manip_dyn as md

four_bar = md.load_mechanism("four_bar")
print(four_bar.freedoms, "degree of freedom,", four_bar.size, "coordinates")
# -> 1 degree of freedom, 21 coordinates

# %%
# The solver integrates one independent coordinate. The others follow from the constraints, which
# are satisfied at every step.
motion = md.simulate_mechanism(four_bar, 2.0, rtol=1e-6)
print(motion.success, "| constraints within 1e-9:", motion.violation < 1e-9)
# -> True | constraints within 1e-9: True

# %%
# Plot the centres of mass of crank, coupler and rocker.
paths = motion.q.reshape(len(motion.t), 3, 7)[:, :, :2]
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for i, name in enumerate(body.name for body in four_bar.bodies):
    axes.plot(*paths[:, i].T, label=name)
    axes.plot(*paths[0, i], "o", color=f"C{i}")
axes.plot([0.0, 2.0], [0.0, 0.0], "k^", ms=8)
axes.set(title="four-bar linkage under gravity", xlabel="x [m]", ylabel="y [m]", aspect="equal")
axes.legend()
plt.show()
