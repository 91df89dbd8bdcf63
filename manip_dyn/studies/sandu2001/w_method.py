"""The W-method that the paper suggests where there is no exact Jacobian, on its pendulum.

Verwer, Spee, Blom, Hundsdorfer (1997): order 2 with any matrix in place of the Jacobian. Here that
is exact at every step, that of the start for the whole motion, and the same 10 % too small; and
the Rosenbrock-Nystrom method has the same matrices, whose order 4 needs the exact one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration import Jacobian, StepControl, integrate
from manip_dyn.robot import load_robot
from manip_dyn.studies.sandu2001.pendulum import DURATION, Run, errors, start
from manip_dyn.studies.sandu2001.rows import MatrixRow

FREEDOMS = 2
SCALES = {"exact": None, "frozen at the start": 1.0, "frozen, 10 % too small": 0.9}
"""Jacobian -> factor of the one at the start; None where it is exact."""
MOST_STEPS = 50_000


def held(_t, _y, p, out, by_time):
    """Write the derivatives that stand behind the efforts in p; compiled by `integrate`."""
    for i in range(2):
        by_time[i] = 0.0
        for k in range(4):
            out[i, k] = p[2 + 4 * i + k]


def rows(
    exact: Run, tolerances: tuple[float, ...], progress: Callable[[str], None]
) -> Iterator[MatrixRow]:
    """Yield the errors of both methods with each Jacobian at each tolerance."""
    kernels = customize(load_robot("stiff_pendulum"))
    linear = np.zeros((FREEDOMS, 3 * FREEDOMS))
    p = np.zeros(2 + 8)
    kernels.linearization(0.0, start(), p[:2], linear, np.zeros(FREEDOMS))
    matrix = np.linalg.solve(linear[:, 4:], linear[:, :4])
    for method in ("rosenbrock_w", "rosenbrock_nystrom"):
        for name, scale in SCALES.items():
            jacobian = Jacobian(kernels.linearization, FREEDOMS, mass=True)
            if scale is not None:
                jacobian = Jacobian(held, FREEDOMS)
                p[2:] = scale * matrix.ravel()
            for tolerance in tolerances:
                progress(f"{method}, Jacobian {name}, {tolerance:g}")
                try:
                    found = integrate(
                        kernels.right_hand_side,
                        (0.0, DURATION),
                        start(),
                        method=method,
                        rtol=tolerance,
                        atol=tolerance,
                        p=p if scale is not None else p[:2].copy(),
                        jacobian=jacobian,
                        control=StepControl(max_steps=MOST_STEPS),
                    )
                except ManipDynError:
                    continue
                yield _row(method, name, tolerance, found, exact)


def _row(method, name, tolerance, found, exact) -> MatrixRow:
    if not found.success:
        return MatrixRow(method, name, tolerance, np.nan, np.nan, found.steps)
    angle, rate = errors(Run(found.t, found.y[:, [0, 2]], found.steps, 0), exact)
    return MatrixRow(method, name, tolerance, angle.largest, rate.largest, found.steps)
