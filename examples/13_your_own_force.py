"""User-defined forces
===================

Define a force as a Python function, which is compiled with its derivatives.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

OIL = 4.0  # N s/m


def drag(t, ground, bob):
    return [-OIL * v for v in bob.velocity], [0.0, 0.0, 0.0]  # N, N m


def swing(*forces):
    bob = md.MovingBody("bob", 2.0, (0.01, 0.01, 0.01), position=(1.0, 0.0, 0.0))
    pin = md.Joint("revolute", ("ground", "bob"), (0, 0, 0), (0, 0, 1))
    pendulum = md.Mechanism([bob], [pin], forces, gravity=(0.0, -9.81, 0.0))
    return md.simulate_mechanism(pendulum, 6.0, rtol=1e-6)


# %%
# The function is called with symbolic expressions of time and motion. It returns the force
# and moment on the second body. The opposite force and moment act on the first body.
free, oiled = swing(), swing(md.UserForce(("ground", "bob"), drag))
for name, motion in ("in air", free), ("in oil", oiled):
    height = motion.q[motion.t > 3.0, 1].max()
    print(f"{name}: largest height after 3 s {1.0 + height:.2f} m")
# -> in air: largest height after 3 s 1.00 m
# -> in oil: largest height after 3 s 0.00 m

for name, motion in ("in air", free), ("in oil", oiled):
    plt.plot(motion.t, np.unwrap(np.arctan2(motion.q[:, 1], motion.q[:, 0])), label=name)
plt.gcf().set(size_inches=(7, 3.8), layout_engine="constrained")
plt.gca().set(title="pendulum with and without drag", xlabel="time [s]", ylabel="angle [rad]")
plt.legend()
plt.show()
