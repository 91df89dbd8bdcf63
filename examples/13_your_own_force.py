"""Your own force
==============

A Python function of the bodies' motion becomes machine code, with its derivatives.
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
# It is called once, with expressions in place of numbers: velocities of the bodies, the time.
# What comes out is the force on the second body and its moment; the opposite acts on the first.
free, oiled = swing(), swing(md.UserForce(("ground", "bob"), drag))
for name, motion in ("in air", free), ("in oil", oiled):
    height = motion.q[motion.t > 3.0, 1].max()
    print(f"{name}: after 3 s it comes up to {1.0 + height:.2f} m above the bottom")
# -> in air: after 3 s it comes up to 1.00 m above the bottom
# -> in oil: after 3 s it comes up to 0.00 m above the bottom

for name, motion in ("in air", free), ("in oil", oiled):
    plt.plot(motion.t, np.unwrap(np.arctan2(motion.q[:, 1], motion.q[:, 0])), label=name)
plt.gcf().set(size_inches=(7, 3.8), layout_engine="constrained")
plt.gca().set(title="a pendulum and its drag", xlabel="time [s]", ylabel="angle [rad]")
plt.legend()
plt.show()
