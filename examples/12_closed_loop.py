"""A closed loop
=============

A four-bar swings: bodies in Cartesian coordinates, held together by constraints.
"""

import matplotlib.pyplot as plt

import manip_dyn as md

four_bar = md.load_mechanism("four_bar")
print(four_bar.freedoms, "freedom in", four_bar.size, "coordinates")
# -> 1 freedom in 21 coordinates

# %%
# The motion is that of the one independent coordinate; the others follow from the constraints,
# which therefore hold to rounding at every step.
motion = md.simulate_mechanism(four_bar, 2.0, rtol=1e-6)
print(motion.success, "| constraints within 1e-9:", motion.violation < 1e-9)
# -> True | constraints within 1e-9: True

# %%
# The centres of mass of crank, coupler and rocker.
paths = motion.q.reshape(len(motion.t), 3, 7)[:, :, :2]
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
for i, name in enumerate(body.name for body in four_bar.bodies):
    axes.plot(*paths[:, i].T, label=name)
    axes.plot(*paths[0, i], "o", color=f"C{i}")
axes.plot([0.0, 2.0], [0.0, 0.0], "k^", ms=8)
axes.set(title="a four-bar under gravity", xlabel="x [m]", ylabel="y [m]", aspect="equal")
axes.legend()
plt.show()
