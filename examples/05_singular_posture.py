"""CLIK through a singular posture
===============================

Follow a circle that touches the boundary of the workspace, where the posture is singular.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

robot = md.load_robot("pa10")
down = np.diag([-1.0, 1.0, -1.0])
circle = md.Circle([0.75, 0.0, 0.235], [0, 0, 1], [-1, 0, 0], down, 0.08, 0.4)
start = [0.0, 0.5412, 0.0, 1.9106, 0.0, 0.6898, 0.0]

runs = {}
for inverse in "constant", "filtered":
    settings = md.ClikSettings(gain=4.0, inverse=inverse)
    runs[inverse] = md.track(robot, circle, step=0.01, q0=start, settings=settings)

# %%
# Constant damping bounds the joint velocities, but reduces the accuracy on the whole path. The
# filtered inverse damps only the singular direction near the singular posture.
for inverse, run in runs.items():
    error = 1e3 * run.position_error
    print(f"{inverse:9} {error.max():5.2f} mm maximum, {error[-1]:.5f} mm at the end")
# -> constant   3.05 mm maximum, 0.20956 mm at the end
# -> filtered   1.30 mm maximum, 0.00000 mm at the end

figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.6), layout="constrained")
for inverse, run in runs.items():
    axes[0].semilogy(run.t, 1e3 * run.position_error, label=inverse)
axes[0].set(title="path through the stretched posture", ylabel="error [mm]", ylim=(1e-8, 1e2))
axes[0].legend()
axes[1].plot(run.t, run.smallest_singular_value, color="C2")
axes[1].set(xlabel="time [s]", ylabel="smallest singular value")
plt.show()
