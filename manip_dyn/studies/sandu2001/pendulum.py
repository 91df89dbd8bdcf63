"""Tables 1 and 2 of Sandu et al. (2001): errors for the stiff double pendulum.

The angle and rate of the first pendulum at every step of a run are compared with a reference run.
The reference has small constant steps. It is interpolated by cubics through the four nearest
points (section 5.1).

`fit` estimates the parameters that the paper does not print. The printed errors determine eight
points of the published motion: |E*| = 100 largest error / RelErr at t*. They are angles in table 1
and rates in table 2. The first three angles would exceed their printed range by a factor of about
ten, so they are divided by ten. Both inertias and gravity are fitted to these points from several
initial guesses. All other parameters are printed.

`w_method_rows` tests the W-method that the paper suggests for problems without an exact Jacobian.
The method of Verwer, Spee, Blom, Hundsdorfer (1997) has order 2 for any matrix in place of the
Jacobian. The tested matrices are the exact Jacobian at every step, the initial Jacobian for the
whole motion, and the initial Jacobian reduced by 10 %. The Rosenbrock-Nystrom method is run with
the same matrices, although its order 4 requires the exact Jacobian.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration import Jacobian, StepControl, integrate
from manip_dyn.multibody import (
    Joint,
    Mechanism,
    MechanismMotion,
    MovingBody,
    RotationalSpring,
    simulate_mechanism,
)
from manip_dyn.robot import load_robot
from manip_dyn.studies.sandu2001.findings import CLOSE, PUBLISHED, FitRow, MatrixRow
from manip_dyn.studies.sandu2001.settings import Settings

DURATION, REFERENCE_STEPS = 2.0, 2_000_000
FIRST, SECOND, SPEED = 2.0 * math.pi, 23.0 * math.pi / 12.0, 10.0
"""Initial angles of both pendulums from the horizontal (rad), and initial rate of the second
pendulum (rad/s)."""
RUNS = {
    "joint": ("joint", "paper"),
    "joint, scaled": ("joint", "scaled"),
    "joint, our control": ("joint", "ours"),
    "cartesian": ("cartesian", "paper"),
    "cartesian, scaled": ("cartesian", "scaled"),
    "cartesian, our control": ("cartesian", "ours"),
    "joint, rodas5p": ("joint", "rodas5p"),
    "cartesian, rodas5p": ("cartesian", "rodas5p"),
}
"""Coordinates and step control by run: paper (eq. 13 to 16), scaled (the same with scaled
estimates) or ours. The last two runs use another method with our step control."""


def options(kind: str, settings: Settings) -> dict[str, Any]:
    """Return the arguments of `integrate` for a kind of step control in `RUNS`."""
    if kind == "rodas5p":
        return {"method": "rodas5p"}
    if kind == "ours":
        return {}
    return {"control": settings.control("scaled" if kind == "scaled" else "plain")}


class Run(NamedTuple):
    """A run: times of its steps (k,), s, angle and rate of the first pendulum (k, 2), counts."""

    t: Vector
    states: Vector
    steps: int
    failures: int


class Errors(NamedTuple):
    """Largest and root mean square errors of the angle or the rate, and the step count.

    Attributes:
        largest: Largest error, rad or rad/s.
        at: Time of the largest error, s; t* in the paper.
        value: Value of the reference at this time, rad or rad/s.
        mean: Root mean square error.
        steps: Number of steps of the run.
    """

    largest: float
    at: float
    value: float
    mean: float
    steps: int


@cache
def reference() -> Run:
    """Return the reference run: RK8 with steps of 1 us, a tenth of the smallest time constant."""
    robot = load_robot("stiff_pendulum")
    solution = integrate(
        customize(robot).right_hand_side,
        (0.0, DURATION),
        start(),
        method="rk8",
        step=DURATION / REFERENCE_STEPS,
        p=np.zeros(2),
    )
    return Run(solution.t, solution.y[:, [0, 2]], solution.statistics.steps, 0)


def run(coordinates: str, tolerance: float, arguments: dict[str, Any]) -> Run:
    """Perform a run in joint or Cartesian coordinates with the arguments of `options`."""
    arguments = {"method": "rosenbrock_nystrom"} | arguments
    if coordinates == "joint":
        robot = load_robot("stiff_pendulum")
        kernels = customize(robot)
        solution = integrate(
            kernels.right_hand_side,
            (0.0, DURATION),
            start(),
            rtol=tolerance,
            atol=tolerance,
            p=np.zeros(2),
            jacobian=Jacobian(kernels.linearization, 2, mass=True),
            **arguments,
        )
        return Run(
            solution.t,
            solution.y[:, [0, 2]],
            solution.statistics.steps,
            solution.statistics.failures,
        )
    return _run_of(simulate_mechanism(cartesian_pendulum(), DURATION, rtol=tolerance, **arguments))


def _run_of(motion: MechanismMotion) -> Run:
    work = motion.statistics
    return Run(motion.t, first_link(motion.q, motion.v), work.steps, work.failures)


def first_link(q: Matrix, v: Matrix) -> Matrix:
    """Return angle (rad) and rate (rad/s) of the first pendulum as an array (k, 2).

    Args:
        q: Coordinates of both bodies (k, 14).
        v: Their rates (k, 14).
    """
    e, rate = q[:, [3, 6]], v[:, [3, 6]]
    angle = FIRST + 2.0 * np.arctan2(e[:, 1], e[:, 0])
    speed = 2.0 * (e[:, 0] * rate[:, 1] - e[:, 1] * rate[:, 0])
    return np.column_stack([angle, speed])


def errors(motion: Run, exact: Run) -> tuple[Errors, Errors]:
    """Return the errors of the angle (rad) and of the rate (rad/s) as defined in the paper."""
    states = interpolated(exact, motion.t)
    wrong = np.abs(motion.states - states)
    worst = wrong.argmax(axis=0)
    means = np.sqrt((wrong**2).mean(axis=0))
    angle, rate = (
        Errors(
            largest=float(wrong[worst[i], i]),
            at=float(motion.t[worst[i]]),
            value=float(states[worst[i], i]),
            mean=float(means[i]),
            steps=motion.steps,
        )
        for i in range(2)
    )
    return angle, rate


def interpolated(exact: Run, t: Vector) -> Matrix:
    """Interpolate the states (k, 2) of a run at times (k,) by cubics through four points."""
    index = np.searchsorted(exact.t, t, side="right") - 1
    first = np.clip(index - 1, 0, len(exact.t) - 4)
    times = exact.t[first[:, np.newaxis] + np.arange(4)]
    total = np.zeros((len(t), exact.states.shape[1]))
    for i in range(4):
        weight = np.ones(len(t))
        for j in range(4):
            if j != i:
                weight *= (t - times[:, j]) / (times[:, i] - times[:, j])
        total += weight[:, np.newaxis] * exact.states[first + i]
    return total


def cartesian_pendulum(
    inertias: tuple[float, float] = (1.0, 0.225), gravity: float = 9.81
) -> Mechanism:
    """Return the pendulum as bodies, joints and rotational springs in the x-y plane.

    Args:
        inertias: Inertias of both links about their centres of mass, kg m^2. Default: slender
            rods.
        gravity: Gravity along -y, m/s^2.
    """
    axis, turn = (0.0, 0.0, 1.0), (math.cos(SECOND / 2), 0.0, 0.0, math.sin(SECOND / 2))
    out = 1.5 * np.array([math.cos(SECOND), math.sin(SECOND), 0.0])
    side = SPEED * 1.5 * np.array([-math.sin(SECOND), math.cos(SECOND), 0.0])
    return Mechanism(
        [
            MovingBody("first", 3.0, [inertias[0]] * 3, (1.0, 0.0, 0.0)),
            MovingBody(
                "second",
                0.3,
                [inertias[1]] * 3,
                out + np.array([2.0, 0.0, 0.0]),
                turn,
                side,
                (0.0, 0.0, SPEED),
            ),
        ],
        [
            Joint("revolute", ("ground", "first"), (0.0, 0.0, 0.0), axis),
            Joint("revolute", ("first", "second"), (2.0, 0.0, 0.0), axis),
        ],
        [
            RotationalSpring(("ground", "first"), axis, 400.0, 15.0, 1.5 * math.pi - FIRST),
            RotationalSpring(("first", "second"), axis, 3e5, 5e4, FIRST - SECOND),
        ],
        (0.0, -gravity, 0.0),
    )


def start() -> Vector:
    """Return the initial joint angles, rad, and rates, rad/s, as one vector (4,)."""
    return np.array([FIRST, SECOND - FIRST, 0.0, SPEED])


MISPRINTED = 3
"""Number of rows of table 1 whose largest error is printed ten times too large."""
UNITS = np.array([0.01] * 4 + [0.1] * 4)
"""Scales of the residuals, rad and rad/s."""
OURS = (1.0, 0.225, 9.81)
"""Both inertias (kg m^2) and gravity (m/s^2) of the computed tables: slender rods."""
STARTS = (OURS, (0.4, 0.05, 9.81), (1.0, 0.225, 1e-3))
BOUNDS = ((np.log(0.01), np.log(0.002), 0.0), (np.log(10.0), np.log(2.0), 20.0))
"""Bounds of the logarithms of the inertias (radii of gyration of 6 cm to 2.6 m) and of gravity."""
TOLERANCE, HOW = 1e-6, {"max_nfev": 20, "diff_step": 1e-4}


# --------------------------------------------------------------------------- fitted pendulum
class Fit(NamedTuple):
    """Fitted inertias (kg m^2) and gravity (m/s^2), the points, and the ranges of the motion."""

    inertias: tuple[float, float]
    gravity: float
    rows: tuple[FitRow, ...]
    angles: tuple[float, float]
    rates: tuple[float, float]

    @property
    def table(self) -> tuple[FitRow, ...]:
        """Rows of the points, the fitted parameters, and the ranges of the motion."""
        fitted = (*self.inertias, self.gravity)
        names = ("inertia of body 1", "inertia of body 2", "gravity")
        nothing = float("nan")
        ranges = zip(
            ("least angle", "largest angle", "least rate", "largest rate"),
            (*PUBLISHED["angle_range"], *PUBLISHED["rate_range"]),
            (*self.angles, *self.rates),
            strict=True,
        )
        return (
            *self.rows,
            *(
                FitRow(name, nothing, nothing, ours, value, nothing, self.status)
                for name, ours, value in zip(names, OURS, fitted, strict=True)
            ),
            *(
                FitRow(
                    name,
                    nothing,
                    float(published),
                    nothing,
                    value,
                    value - published,
                    "from figure 2",
                )
                for name, published, value in ranges
            ),
        )

    @property
    def status(self) -> str:
        """``reproduced`` if all points are close, else ``not reproducible``."""
        close = all(row.status == "close" for row in self.rows)
        return "reproduced" if close else "not reproducible"


def published_points() -> tuple[Vector, Vector]:
    """Return times (8,), s, and magnitudes (8,) of four angles (rad) and four rates (rad/s)."""
    sizes = []
    for kind in ("position", "velocity"):
        sizes += [
            100.0 * e / r for e, r in zip(PUBLISHED[kind], PUBLISHED[f"{kind}_rel"], strict=True)
        ]
    magnitudes = np.array(sizes)
    magnitudes[:MISPRINTED] /= 10.0
    return np.array(PUBLISHED["position_at"] + PUBLISHED["velocity_at"]), magnitudes


def fit(progress: Callable[[str], None] = lambda line: None) -> Fit:
    """Return the pendulum fitted to the published points, and the ranges of its motion."""
    from scipy.optimize import least_squares  # slow to load

    times, magnitudes = published_points()

    def residuals(x: Vector) -> Vector:
        return (_points(_motion(x), times) - magnitudes) / UNITS

    solutions = []
    for start in STARTS:
        progress(f"fit from {start}")
        x = np.array([np.log(start[0]), np.log(start[1]), start[2]])
        solutions.append(least_squares(residuals, x, bounds=BOUNDS, **HOW))
    best = min(solutions, key=lambda solution: solution.cost).x
    ours = _points(_motion(np.array([*np.log(OURS[:2]), OURS[2]])), times)
    motion = _motion(best)
    fitted = _points(motion, times)
    rows = tuple(
        FitRow(
            "angle" if k < 4 else "rate",
            float(times[k]),
            float(magnitudes[k]),
            float(ours[k]),
            float(fitted[k]),
            float(fitted[k] - magnitudes[k]),
            "close" if abs(fitted[k] - magnitudes[k]) <= CLOSE * magnitudes[k] else "differs",
        )
        for k in range(len(times))
    )
    low, high = motion.states.min(axis=0), motion.states.max(axis=0)
    return Fit(
        inertias=(float(np.exp(best[0])), float(np.exp(best[1]))),
        gravity=float(best[2]),
        rows=rows,
        angles=(float(low[0]), float(high[0])),
        rates=(float(low[1]), float(high[1])),
    )


def _motion(x: Vector) -> Run:
    """Return the motion for parameters `x` (3,): logarithms of both inertias, and gravity."""
    car = cartesian_pendulum((float(np.exp(x[0])), float(np.exp(x[1]))), float(x[2]))
    return _run_of(simulate_mechanism(car, DURATION, rtol=TOLERANCE, method="rodas5p"))


def _points(motion: Run, times: Vector) -> Vector:
    """Return a vector (8,): angles at the first four times, then magnitudes of four rates."""
    states = interpolated(motion, times)
    return np.concatenate([states[:4, 0], np.abs(states[4:, 1])])


FREEDOMS = 2
# ---------------------------------------------------------------------------------- W-method
SCALES = {"exact": None, "frozen at the start": 1.0, "frozen, 10 % too small": 0.9}
"""Factors of the initial Jacobian by name; None for the exact Jacobian."""
MOST_STEPS = 50_000


def frozen_derivatives(_t, _y, p, out, by_time):
    """Write the constant Jacobian that is stored after the efforts in `p`.

    `integrate` compiles this function.
    """
    for i in range(2):
        by_time[i] = 0.0
        for k in range(4):
            out[i, k] = p[2 + 4 * i + k]


def w_method_rows(
    exact: Run, tolerances: tuple[float, ...], progress: Callable[[str], None]
) -> Iterator[MatrixRow]:
    """Yield the errors of both methods for each Jacobian and tolerance.

    Runs that raise `ManipDynError` are omitted.
    """
    kernels = customize(load_robot("stiff_pendulum"))
    linear = np.zeros((FREEDOMS, 3 * FREEDOMS))
    p = np.zeros(2 + 8)
    kernels.linearization(0.0, start(), p[:2], linear, np.zeros(FREEDOMS))
    matrix = np.linalg.solve(linear[:, 4:], linear[:, :4])
    for method in ("rosenbrock_w", "rosenbrock_nystrom"):
        for name, scale in SCALES.items():
            jacobian = Jacobian(kernels.linearization, FREEDOMS, mass=True)
            if scale is not None:
                jacobian = Jacobian(frozen_derivatives, FREEDOMS)
                p[2:] = scale * matrix.ravel()
            for tolerance in tolerances:
                progress(f"{method}, Jacobian {name}, {tolerance:g}")
                try:
                    solution = integrate(
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
                yield _matrix_row(method, name, tolerance, solution, exact)


def _matrix_row(method, name, tolerance, solution, exact) -> MatrixRow:
    if not solution.success:
        return MatrixRow(method, name, tolerance, np.nan, np.nan, solution.statistics.steps)
    angle, rate = errors(
        Run(solution.t, solution.y[:, [0, 2]], solution.statistics.steps, 0), exact
    )
    return MatrixRow(
        method, name, tolerance, angle.largest, rate.largest, solution.statistics.steps
    )
