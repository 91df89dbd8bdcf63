"""Ensembles
=========

Simulate two thousand arms with uncertain masses and compare two feedback gains.
"""

import matplotlib.pyplot as plt
import numpy as np

import manip_dyn as md

arm = md.load_robot("rr")
rng = np.random.default_rng(1)
masses = rng.normal(1.0, 0.15, (2000, arm.n))  # factors of the links' masses
start, target = np.zeros(arm.n), np.array([0.8, -0.5])

# %%
# The controller uses the nominal model; each motion has its own masses. The motions run in SIMD
# lanes on all cores.
ensembles = {}
for stiffness in (25.0, 400.0):
    control = md.PDControl(target, stiffness, 2.0 * stiffness**0.5, "computed_torque")
    ensembles[stiffness] = md.simulate_many(arm, start, start, control, 4.0, mass_scale=masses)
    errors = np.abs(ensembles[stiffness].q_end - target).max(axis=1)
    print(f"{stiffness:.0f} / s^2: {np.mean(errors < 0.02):.0%} end within 0.02 rad")
# -> 25 / s^2: 38% end within 0.02 rad
# -> 400 / s^2: 100% end within 0.02 rad

# %%
# If a motion diverges, it has a status and a reason. The other motions are not affected.
print(ensembles[25.0])
# -> Ensemble(2000 motions of 'rr': 2000 SUCCESS)

for stiffness, ensemble in ensembles.items():
    errors = np.sort(np.abs(ensemble.q_end - target).max(axis=1))
    fraction = np.arange(1, len(errors) + 1) / len(errors)
    plt.semilogx(errors, fraction, label=f"stiffness {stiffness:.0f} / s$^2$")
plt.gcf().set(size_inches=(7, 3.8), layout_engine="constrained")
plt.gca().set(title="2000 arms with uncertain masses", xlabel="final error [rad]")
plt.ylabel("fraction of the arms")
plt.legend()
plt.show()
