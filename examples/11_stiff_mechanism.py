"""A stiff mechanism
=================

Compare an explicit and an implicit method for a pendulum with a spring of 3e5 N m/rad.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

robot = md.load_robot("stiff_pendulum")
print("springs", robot.stiffness, "N m/rad, dampers", robot.damping, "N m s/rad")
# -> springs [   400. 300000.] N m/rad, dampers [1.5e+01 5.0e+04] N m s/rad


def swing(method, rtol):
    start, rest, effort = [4.0, 0.0], [0.0, 0.0], [0.0, 0.0]
    return md.simulate(robot, start, rest, effort, 1.0, method=method, rtol=rtol)


# %%
# Stability limits the steps of the explicit method. Accuracy limits the steps of the Rosenbrock
# method.
explicit, implicit = swing("rkdp54", 1e-4), swing("rodas5p", 1e-4)
for name, run in ("rkdp54", explicit), ("rodas5p", implicit):
    steps = run.statistics.steps
    print(f"{name:8} about {float(f'{steps:.1g}'):.0f} steps")
# -> rkdp54   about 30000 steps
# -> rodas5p  about 100 steps
print("the same motion:", bool(np.allclose(explicit.q, implicit.q, atol=1e-3)))
# -> the same motion: True

figure, axes = plt.subplots(2, 1, sharex=True, figsize=(7, 4.4), layout="constrained")
axes[0].plot(implicit.t, implicit.q[:, 0])
axes[0].set(title="pendulum with a stiff joint", ylabel="joint 1 [rad]")
axes[1].plot(implicit.t, 1e6 * implicit.q[:, 1], color="C1")
axes[1].set(xlabel="time [s]", ylabel="joint 2 [µrad]")
plt.show()
