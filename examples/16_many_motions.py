"""Many motions at once
====================

Two thousand arms with masses that nobody knows well: which feedback still holds the target?
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

arm = md.load_robot("rr")
draw = np.random.default_rng(1)
masses = draw.normal(1.0, 0.15, (2000, arm.n))  # factors of the links' masses
start, target = np.zeros(arm.n), np.array([0.8, -0.5])

# %%
# The controller compensates gravity and inertia of the arm that it knows, each motion has its own.
# All run side by side in SIMD lanes, on all cores; statistics are kept of every step.
made = {}
for stiffness in (25.0, 400.0):
    control = md.PDControl(target, stiffness, 2.0 * stiffness**0.5, "computed_torque")
    made[stiffness] = md.simulate_many(arm, start, start, control, 4.0, mass_scale=masses)
    missed = np.abs(made[stiffness].q_end - target).max(axis=1)
    print(f"{stiffness:.0f} / s^2: {np.mean(missed < 0.02):.0%} end within 0.02 rad")
# -> 25 / s^2: 38% end within 0.02 rad
# -> 400 / s^2: 100% end within 0.02 rad

# %%
# A motion that diverges would be a row with a reason, and disturb no other.
print(made[25.0])
# -> Ensemble(2000 motions of 'rr': 2000 SUCCESS)

for stiffness, ensemble in made.items():
    missed = np.sort(np.abs(ensemble.q_end - target).max(axis=1))
    share = np.arange(1, len(missed) + 1) / len(missed)
    plt.semilogx(missed, share, label=f"stiffness {stiffness:.0f} / s$^2$")
plt.gcf().set(size_inches=(7, 3.8), layout_engine="constrained")
plt.gca().set(title="2000 arms with wrong masses", xlabel="miss of the target [rad]")
plt.ylabel("share of the arms")
plt.legend()
plt.show()
