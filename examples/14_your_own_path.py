"""User-defined paths
==================

Define a path by a compiled function that computes pose and twist of the tool.
"""

import matplotlib.pyplot as plt
import numba
import numpy as np

import manip_dyn as md


@numba.njit(error_model="numpy")
def rose(t, parameters, out):
    size, petals, rate = parameters[3], parameters[4], parameters[5]
    angle = rate * t
    radius, slope = size * np.sin(petals * angle), size * petals * rate * np.cos(petals * angle)
    cos, sin = np.cos(angle), np.sin(angle)
    out[:] = 0.0
    out[0], out[1] = parameters[0] + radius * cos, parameters[1] + radius * sin
    out[2] = parameters[2]
    out[3], out[7], out[11] = -1.0, 1.0, -1.0  # rotation by rows: the tool points down
    out[12], out[13] = slope * cos - radius * rate * sin, slope * sin + radius * rate * cos


class Rose(md.Path):
    function = rose

    def __init__(self, center, size=0.15, petals=3.0, rate=0.3):
        self.parameters = np.array([*center, size, petals, rate])
        self.duration = np.pi / rate  # a rose with odd petals is closed after half a revolution


robot = md.load_robot("pa10")
result = md.track(robot, Rose([0.55, 0.0, 0.3]), step=0.02)
print(result.success, "within a micrometre:", bool(result.position_error.max() < 1e-6))
# -> True within a micrometre: True

figure, axes = plt.subplots(figsize=(4.6, 4.6), layout="constrained")
axes.plot(*result.desired[:, :2, 3].T, color="lightgrey", lw=6, label="path")
axes.plot(*result.actual[:, :2, 3].T, lw=1.2, label="tool")
axes.set(title="rose", xlabel="x [m]", ylabel="y [m]", aspect="equal")
axes.legend(loc="upper right")
plt.show()
