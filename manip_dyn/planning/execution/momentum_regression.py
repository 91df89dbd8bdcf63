"""Regression of mass ratio and dry friction on the momentum balance of a motion.

For each joint and each candidate of the delay, the errors y of the momentum balance without
friction and with the masses of the model are linear in the unknown coefficients::

    y = r x - f s - g u + c

x are the impulses of the commands without those of passive efforts, r the inverse mass ratio
minus 1, f the dry friction relative to the masses, and s the sums of the signs of the velocities
times the periods. c is the error of the first momentum. While a joint moves so slowly that its
direction is unclear, or stands, friction is unknown within its limit. g is its mean in these
periods, and u are the sums of their durations. All joints share r. The coefficients have normal
priors (Bishop, Pattern Recognition and Machine Learning, 2006, section 3.3), and f is not
negative.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import Matrix, Vector

MASS_DEVIATION, FRICTION_DEVIATION = 0.12, 0.06
"""Prior standard deviations of the inverse mass ratio, and of the friction relative to the effort
limits. In doubt, an error is attributed to the masses, because friction would help to brake."""
PLAUSIBLE = 0.6
"""Largest deviation of the inverse mass ratio from 1. Larger ones are due to pushes."""


class Balance(NamedTuple):
    """Momentum balances over the periods from 0 to k, for d candidates of the delay.

    Attributes:
        errors: Momenta minus impulses (d, k, n), N m s or N s.
        impulses: Impulses of the commands without those of passive efforts (d, k, n).
        directions: Sums of the signs of the velocities times the periods (k, n), s.
        unclear: Sums of the periods in which the sign is unclear (k, n), s.
    """

    errors: Matrix
    impulses: Matrix
    directions: Matrix
    unclear: Matrix

    def of(self, candidate: int) -> Balance:
        """Return the balances of one candidate."""
        rows = slice(candidate, candidate + 1)
        return self._replace(errors=self.errors[rows], impulses=self.impulses[rows])


class Fit(NamedTuple):
    """Most probable coefficients for d candidates of the delay.

    Attributes:
        residuals: Sums (d,) of the squared errors and coefficients, over their deviations.
        ratios: Inverse mass ratios minus 1 (d,).
        frictions: Dry friction relative to the masses (d, n), N m or N.
        static: Magnitudes (d, n) of the mean friction in periods with an unclear direction.
        unchanged: Residual of the first candidate with the assumed masses and friction.
        frictionless_residuals: Residuals (d,) without friction.
        frictionless_ratios: Inverse mass ratios minus 1 (d,) without friction.
        deviations: Standard deviations of these ratios (d,).
    """

    residuals: Vector
    ratios: Vector
    frictions: Matrix
    static: Matrix
    unchanged: float
    frictionless_residuals: Vector
    frictionless_ratios: Vector
    deviations: Vector


def fit(
    balance: Balance,
    limit: Vector,
    deviation: Vector,
    first: Vector,
    inverse: float,
    friction: Vector,
) -> Fit:
    """Return the most probable coefficients for each candidate of the delay.

    If the errors of a joint are larger than their deviation explains, the model of this joint is
    incomplete. Its deviation is then the root mean square of the remaining errors.

    Args:
        balance: Momentum balances.
        limit: Effort limits (n,), N m or N.
        deviation: Standard deviations of the errors (n,), N m s or N s.
        first: Standard deviations of the error of the first momentum (n,).
        inverse: Assumed inverse mass ratio.
        friction: Assumed dry friction relative to the masses (n,), N m or N.
    """
    errors, impulses, directions, _ = balance
    prior = FRICTION_DEVIATION * limit
    residuals = _solved(balance, prior, deviation, first).residuals
    best = residuals.sum(axis=1).argmin()
    excess = residuals[best] / max(len(directions) - 3, 1)
    deviation = deviation * np.sqrt(np.maximum(excess, 1.0))
    solved = _solved(balance, prior, deviation, first)
    assumed = errors[:1] + (1.0 - inverse) * impulses[:1] + friction * directions
    balance = balance._replace(errors=assumed, impulses=impulses[:1])
    unchanged = _solved(balance, prior, deviation, first).unchanged
    unlikely = ((inverse - 1.0) / MASS_DEVIATION) ** 2 + ((friction / prior) ** 2).sum()
    return Fit(
        solved.residuals.sum(axis=1) + (solved.ratios / MASS_DEVIATION) ** 2,
        solved.ratios,
        solved.frictions,
        solved.static,
        float(unchanged[0] + unlikely),
        solved.frictionless + (solved.frictionless_ratios / MASS_DEVIATION) ** 2,
        solved.frictionless_ratios,
        solved.deviations,
    )


class _Solution(NamedTuple):
    """Coefficients, and residuals without those of the mass ratios; see `Fit`.

    Attributes:
        residuals: Residuals of each joint (d, n).
        ratios: Inverse mass ratios minus 1 (d,).
        frictions: Dry friction relative to the masses (d, n), N m or N.
        static: Magnitudes (d, n) of the mean friction in periods with an unclear direction.
        unchanged: Residuals without mass ratio and friction (d,).
        frictionless: Residuals without friction (d,).
        frictionless_ratios: Inverse mass ratios minus 1 without friction (d,).
        deviations: Standard deviations of the inverse mass ratios (d,).
    """

    residuals: Matrix
    ratios: Vector
    frictions: Matrix
    static: Matrix
    unchanged: Vector
    frictionless: Vector
    frictionless_ratios: Vector
    deviations: Vector


def _solved(balance: Balance, prior: Vector, deviation: Vector, first: Vector) -> _Solution:
    """Solve for the coefficients of each candidate."""
    x, y = (np.moveaxis(rows / deviation, 2, 0) for rows in (balance.impulses, balance.errors))
    # Columns in units of the prior deviations of their coefficients.
    weights = prior * balance.directions, prior * balance.unclear, first + 0.0 * balance.unclear
    columns = np.stack([np.transpose(weight / deviation) for weight in weights], axis=-1)
    square = np.swapaxes(columns, 1, 2) @ columns + np.eye(3)
    sums = np.empty((2, 3, *balance.errors.shape[::2]))  # xx, xy, yy with and without friction
    for k, rows in enumerate((columns, columns[:, :, 1:])):
        inverse = np.linalg.inv(square[:, k:, k:])
        x_rows, y_rows = x @ rows, y @ rows
        x_part, y_part = x_rows @ inverse, y_rows @ inverse
        sums[k, 0] = _products(x, x) - _products(x_part, x_rows)
        sums[k, 1] = _products(x, y) - _products(x_part, y_rows)
        sums[k, 2] = _products(y, y) - _products(y_part, y_rows)
        if k == 0:
            of_x, of_y = x_part[:, :, :2].T, y_part[:, :, :2].T
    xx, xy, yy = sums[0]
    for _ in range(2):
        ratios = _ratios(xx, xy)
        frictions, static = prior * (ratios[:, None] * of_x - of_y)
        xx, xy, yy = np.where(frictions < 0.0, sums[1], sums[0])  # friction is not negative
    residuals = yy - ratios[:, None] * (2.0 * xy - ratios[:, None] * xx)
    alone = _ratios(sums[1, 0], sums[1, 1])
    xx, xy, yy = sums[1].sum(axis=2)
    return _Solution(
        residuals,
        ratios,
        np.maximum(frictions, 0.0),
        np.abs(static),
        yy,
        yy - alone * (2.0 * xy - alone * xx),
        alone,
        1.0 / np.sqrt(xx + MASS_DEVIATION**-2),
    )


def _ratios(xx: Matrix, xy: Matrix) -> Vector:
    """Return inverse mass ratios minus 1 (d,) for products of each joint (d, n)."""
    ratios = xy.sum(axis=1) / (xx.sum(axis=1) + MASS_DEVIATION**-2)
    return np.minimum(np.maximum(ratios, -PLAUSIBLE), PLAUSIBLE)


def _products(one: Any, two: Any) -> Matrix:
    """Return the scalar products (d, n) of rows (n, d, k)."""
    return np.einsum("idk,idk->di", one, two)
