"""`identify`: estimate dynamic parameters of an arm from a log of its motion.

The signals of the log are filtered with zero phase, differentiated and decimated. The base
parameters are then estimated by least squares.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Array, Matrix, Tensor, Vector, finite_array, positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.identification.parameters import (
    OF_A_JOINT,
    BaseParameters,
    base_parameters,
    check_independent_joints,
    checked_estimated,
    observation,
    spring_efforts,
    stated_parameters,
)
from manip_dyn.robot import Robot

ITERATIONS = 3
"""Number of iterations in which the residuals determine new weights."""
UNOBSERVABLE = 1e-3
"""Singular value, relative to the largest one, below which a direction is unobservable. In such
a direction, errors of model and filter would dominate the estimate."""


class Estimate(NamedTuple):
    """Result of a weighted least-squares estimation.

    Attributes:
        values: Estimated parameters (b,).
        covariance: Covariance (b, b) of the parameters. Unobservable parameters have infinite
            variances.
        noise: Standard deviation (n,) of the effort noise of each joint, increased for
            autocorrelation.
        residual: Root mean square (n,) of the residual of each joint.
        condition: Condition number of the weighted regressor with normalized columns; inf if a
            direction is unobservable.
    """

    values: Vector
    covariance: Matrix
    noise: Vector
    residual: Vector
    condition: float


def least_squares(observed: Tensor, efforts: Matrix, assumed: Vector) -> Estimate:
    """Return the least-squares estimate, weighted by the estimated noise of the joints.

    Args:
        observed: Regressor (m, n, b): efforts per unit of each parameter.
        efforts: Measured efforts (m, n).
        assumed: Parameters (b,) that are used in unobservable directions.
    """
    m, n, b = observed.shape
    difference = efforts - observed @ assumed
    noise = np.maximum(np.std(difference, axis=0), np.finfo(float).tiny)
    for _ in range(ITERATIONS):
        rows = (observed / noise[:, None]).reshape(m * n, b)
        size = np.linalg.norm(rows, axis=0)
        size[size == 0.0] = 1.0
        u, singular, vt = np.linalg.svd(rows / size, full_matrices=False)
        used = singular > UNOBSERVABLE * singular[0]
        weighted = u[:, used].T @ (difference / noise).ravel()
        step = vt[used].T @ (weighted / singular[used]) / size
        errors = difference - observed @ step
        degrees = np.einsum("mnk,mnk->n", *[u[:, used].reshape(m, n, -1)] * 2)
        noise = _deviation(errors, degrees)
    spread = vt[used].T / singular[used]
    covariance = (spread @ spread.T) / np.outer(size, size)
    unobservable = np.abs(vt[~used]).max(axis=0, initial=0.0) > 1e-6
    covariance[unobservable, unobservable] = np.inf
    residual = np.sqrt(np.mean(errors**2, axis=0))
    condition = float(singular[0] / singular[used][-1]) if used.all() else np.inf
    return Estimate(assumed + step, covariance, noise, residual, condition)


def _deviation(errors: Matrix, degrees: Vector) -> Vector:
    """Return the standard deviations (n,) of errors, increased for autocorrelation.

    Args:
        errors: Residuals (m, n).
        degrees: Degrees of freedom (n,) that the parameters consume, by joint.
    """
    m = len(errors)
    variance = np.sum(errors**2, axis=0) / np.maximum(m - degrees, 1.0)
    products = np.sum(errors[1:] * errors[:-1], axis=0)
    correlation = products / np.maximum(np.sum(errors**2, axis=0), np.finfo(float).tiny)
    correlation = np.clip(correlation, 0.0, 0.95)
    variance *= (1.0 + correlation) / (1.0 - correlation)
    return np.sqrt(np.maximum(variance, np.finfo(float).tiny))


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """Estimated base parameters of an arm and their standard deviations.

    Attributes:
        robot: The robot described by URDF and YAML file.
        base: The base parameters as combinations of all parameters.
        names: Names (b,) of the leading parameter of each combination; see `formula`.
        values: Estimates (b,): kg, kg m, kg m^2, and damping, friction and armature of joints.
        deviations: Standard deviations (b,); infinite for unobservable parameters.
        described: Values (b,) from URDF and YAML file.
        covariance: Covariance (b, b) of the estimates.
        noise: Standard deviation (n,) of the noise in the filtered efforts of each joint, N m or
            N.
        residual: Root mean square (n,) of the unexplained efforts of each joint, N m or N.
        condition: Condition number of the weighted regressor with normalized columns; values below
            100 are good. It is inf if the log does not determine all parameters.
        unseen: Names of base parameters that this log does not determine individually.
        invisible: Names of parameters that are not estimated or do not affect any effort.
    """

    robot: Robot
    base: BaseParameters
    values: Vector
    deviations: Vector
    described: Vector
    covariance: Matrix
    noise: Vector
    residual: Vector
    condition: float
    unseen: tuple[str, ...]

    def __repr__(self) -> str:
        """Return the numbers of base parameters, the robot and the condition number."""
        unseen = f", {len(self.unseen)} unseen" if self.unseen else ""
        return (
            f"Identification({len(self.names)} base parameters of '{self.robot.name}'{unseen}: "
            f"condition {self.condition:.3g})"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the leading parameter of each combination."""
        return self.base.names

    @property
    def invisible(self) -> tuple[str, ...]:
        """Names of parameters that are not estimated or do not affect any effort of this arm."""
        return self.base.invisible

    def formula(self, name: str) -> str:
        """Return a base parameter as a sum of parameters, such as ``elbow mx +0.4 wrist m``.

        Raises:
            ManipDynError: If `name` is not in `names`.
        """
        if name not in self.names:
            hint = closest(str(name), self.names)
            raise ManipDynError(f"name must be a base parameter, got {name!r}{hint}")
        return self.base.formula(self.names.index(name))

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Matrix:
        """Return the efforts (m, n), N m or N, for a motion with the estimated parameters.

        Springs and joint parameters that were not estimated have the values of the robot.

        Args:
            q: Positions (m, n), rad or m.
            v: Velocities (m, n), rad/s or m/s.
            a: Accelerations (m, n), rad/s^2 or m/s^2.
        """
        positions = self._rows("q", q)
        velocities = self._rows("v", v, len(positions))
        accelerations = self._rows("a", a, len(positions))
        efforts = observation(self.robot, self.base, positions, velocities, accelerations)
        joint, invisible = self.robot.joint_names[0], self.invisible
        estimated = tuple(kind for kind in OF_A_JOINT if f"{joint} {kind}" not in invisible)
        fixed = _fixed_efforts(self.robot, estimated, velocities, accelerations)
        return efforts @ self.values + spring_efforts(self.robot, positions) + fixed

    def _rows(self, name: str, value: ArrayLike, count: int | None = None) -> Matrix:
        """Return an array (n,) or (m, n) as (m, n); `count` is the required m."""
        array: Any = value
        try:
            rows = [array] if np.ndim(array) == 1 else array
            size = (len(rows) if count is None else count, self.robot.n)
        except (TypeError, ValueError) as error:
            raise ManipDynError(f"{name} must be numbers (m, n), got {value!r}.") from error
        return finite_array(name, rows, size)

    def content(self) -> dict[str, Any]:
        """Return the result as plain data for JSON."""
        rows = zip(self.names, self.values, self.deviations, self.described, strict=True)
        return {
            "robot": self.robot.name,
            "condition": self.condition if np.isfinite(self.condition) else None,
            "unseen": list(self.unseen),
            "residual": dict(zip(self.robot.joint_names, self.residual.tolist(), strict=True)),
            "parameters": [
                {
                    "name": name,
                    "value": float(value),
                    "deviation": float(deviation) if np.isfinite(deviation) else None,
                    "described": float(described),
                    "formula": self.formula(name),
                }
                for name, value, deviation, described in rows
            ],
        }


POSITION_CUTOFF = 4.0
"""Cutoff frequency of the positions, as a multiple of that of the efforts."""


def identify(
    robot: Robot,
    log: str | Path | Any = None,
    *,
    t: ArrayLike | None = None,
    q: ArrayLike | None = None,
    tau: ArrayLike | None = None,
    v: ArrayLike | None = None,
    cutoff: float = 10.0,
    estimated: tuple[str, ...] = OF_A_JOINT,
) -> Identification:
    """Estimate the base parameters of an arm from its motion.

    Positions are smoothed with zero phase and differentiated. Efforts and regressor pass the same
    filter. Weighted least squares yields the parameters and the noise of the joints, which
    determines the weights (Gautier 1997; Swevers et al. 1997).

    Args:
        robot: The robot, without mimic joints; its dimensions, gravity and springs are assumed to
            be correct. Its masses and joint parameters are used only in unobservable directions,
            and for joint parameters that are not estimated.
        log: A recording (``arm.mcap``), a CSV file with the columns ``t``,
            ``position_JOINT`` and ``effort_JOINT`` as written by `manip_dyn simulate`, or an
            object with `t`, `q` and `tau` (or `effort`) such as a `Trajectory`. It replaces the
            arrays `t`, `q`, `tau` and `v`. Default: these arrays.
        t: Times (m,), s.
        q: Positions (m, n), rad or m.
        tau: Efforts (m, n) of the drives, N m or N.
        v: Velocities (m, n), rad/s or m/s. Default: differentiated positions.
        cutoff: Cutoff frequency of the efforts, Hz; that of the positions is four times higher.
        estimated: Joint parameters to estimate: ``damping``, ``friction`` and ``armature``. The
            others have the values of the robot.

    Raises:
        ManipDynError: If the log does not match the robot, has too few samples, or has no efforts,
            if its times do not increase, or if another argument is invalid.
    """
    check_independent_joints(robot)
    estimated = checked_estimated(estimated)
    if log is not None:
        t, q, tau = _signals(log, robot)
        v = None
    times, positions, efforts, velocities = _checked(robot, t, q, tau, v)
    cutoff = positive("cutoff", cutoff, "Hz")
    period, (positions, efforts, velocities) = evenly(times, positions, efforts, velocities)
    positions = low_passed(positions, period, POSITION_CUTOFF * cutoff)
    if v is None:
        velocities = rate(positions, period)
    else:
        velocities = low_passed(velocities, period, POSITION_CUTOFF * cutoff)
    base = base_parameters(robot, estimated)
    signals = (positions, velocities, rate(velocities, period), efforts)
    positions, velocities, accelerations, efforts = (
        without_ends(signal, period, POSITION_CUTOFF * cutoff) for signal in signals
    )
    observed = observation(robot, base, positions, velocities, accelerations)
    passive = spring_efforts(robot, positions)
    passive += _fixed_efforts(robot, estimated, velocities, accelerations)
    described = base.of(stated_parameters(robot))
    estimate = least_squares(
        decimated(observed, period, cutoff),
        decimated(efforts - passive, period, cutoff),
        described,
    )
    deviations = np.sqrt(np.diag(estimate.covariance))
    unseen = [name for name, x in zip(base.names, deviations, strict=True) if np.isinf(x)]
    return Identification(
        robot=robot,
        base=base,
        values=estimate.values,
        deviations=deviations,
        described=described,
        covariance=estimate.covariance,
        noise=estimate.noise,
        residual=estimate.residual,
        condition=estimate.condition,
        unseen=tuple(unseen),
    )


def _signals(log: Any, robot: Robot) -> tuple[ArrayLike, ArrayLike, ArrayLike]:
    """Return the times, positions and efforts of a file or a result.

    Samples that are not finite are removed, except from CSV files.
    """
    if isinstance(log, (str, Path)) and Path(log).suffix == ".csv":
        return from_csv(Path(log), robot)
    if isinstance(log, (str, Path)):
        from manip_dyn.recording import read

        log = read(log)
    efforts = getattr(log, "tau", getattr(log, "effort", None))
    if efforts is None or not hasattr(log, "t") or not hasattr(log, "q"):
        kind = type(log).__name__
        raise ManipDynError(f"log must be a recording or have t, q and tau, got a {kind}.")
    finite = np.all(np.isfinite(np.column_stack([log.q, efforts])), axis=1)
    return log.t[finite], log.q[finite], efforts[finite]


def _checked(
    robot: Robot, t: Any, q: Any, tau: Any, v: Any
) -> tuple[Vector, Matrix, Matrix, Matrix]:
    """Return times, positions, efforts and velocities; velocities are zero if `v` is None."""
    missing = [name for name, x in (("t", t), ("q", q), ("tau", tau)) if x is None]
    if missing:
        raise ManipDynError(
            f"log, or t, q and tau, must be given, got no {', no '.join(missing)}."
        )
    times = finite_array("t", t, (len(np.atleast_1d(t)),))
    shape = (len(times), robot.n)
    velocities = np.zeros(shape) if v is None else v
    positions, efforts = finite_array("q", q, shape), finite_array("tau", tau, shape)
    if not (efforts.any() or robot.stiffness.any()):
        raise ManipDynError(
            "tau must not be zero throughout: a free motion determines ratios of parameters only."
        )
    return times, positions, efforts, finite_array("v", velocities, shape)


def _fixed_efforts(
    robot: Robot, estimated: tuple[str, ...], velocities: Matrix, accelerations: Matrix
) -> Matrix:
    """Return the efforts (m, n) due to joint parameters that are not estimated."""
    efforts = np.zeros_like(velocities)
    if "damping" not in estimated:
        efforts += robot.damping * velocities
    if "friction" not in estimated:
        efforts += robot.coulomb_friction * np.sign(velocities)
    if "armature" not in estimated:
        efforts += robot.armature * accelerations
    return efforts


def from_csv(file: Path, robot: Robot) -> tuple[Vector, Matrix, Matrix]:
    """Read times (m,), positions (m, n) and efforts (m, n) from a CSV file.

    The columns are ``t``, ``position_JOINT`` and ``effort_JOINT``; other columns are ignored.

    Raises:
        ManipDynError: If the file cannot be read, or lacks a column or a number.
    """
    try:
        with open(file, encoding="utf-8", newline="") as opened:
            head, *rows = list(csv.reader(opened)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ManipDynError(f"log '{file}' cannot be read: {reason}.") from error
    kinds = ("position", "effort")
    columns = ["t", *(f"{kind}_{joint}" for kind in kinds for joint in robot.joint_names)]
    for name in columns:
        if name not in head:
            raise ManipDynError(f"log '{file}' has no column '{name}'{closest(name, head)}")
    indices = [head.index(name) for name in columns]
    numbers = []
    for line, row in enumerate(rows, 2):
        if not row:
            continue
        try:
            numbers.append([float(row[k]) for k in indices])
        except (ValueError, IndexError) as error:
            raise ManipDynError(
                f"log '{file}', line {line} must have a number in each column: {error}."
            ) from error
    table = np.array(numbers).reshape(len(numbers), len(columns))
    return table[:, 0], table[:, 1 : 1 + robot.n], table[:, 1 + robot.n :]


ORDER = 4
"""Order of the Butterworth filter, which is applied forwards and backwards."""
MINIMUM_SAMPLES = 30


def evenly(t: Vector, *signals: Matrix) -> tuple[float, list[Matrix]]:
    """Return the sampling period (s) and the signals (m, n), interpolated at uniform times.

    Raises:
        ManipDynError: If the times `t` (m,), s, do not increase or are fewer than
            `MINIMUM_SAMPLES`.
    """
    if len(t) < MINIMUM_SAMPLES:
        raise ManipDynError(f"log must have at least {MINIMUM_SAMPLES} samples, got {len(t)}.")
    steps = np.diff(t)
    if np.any(steps <= 0.0):
        k = int(np.argmin(steps))
        raise ManipDynError(f"t must increase, got {t[k]:g} s followed by {t[k + 1]:g} s.")
    period = float(t[-1] - t[0]) / (len(t) - 1)
    even = t[0] + period * np.arange(len(t))
    if np.abs(even - t).max() < 1e-6 * period:
        return period, list(signals)
    return period, [
        np.array([np.interp(even, t, column) for column in signal.T]).T for signal in signals
    ]


def low_passed(signal: Array, period: float, cutoff: float) -> Array:
    """Return a signal (m, ...) after a zero-phase low-pass filter.

    If the cutoff frequency `cutoff`, Hz, is at least 0.45 times the sampling rate 1 / `period`,
    the signal is returned unchanged.
    """
    if cutoff >= 0.45 / period:
        return signal
    from scipy.signal import butter, sosfiltfilt  # slow to import

    return sosfiltfilt(butter(ORDER, cutoff, fs=1.0 / period, output="sos"), signal, axis=0)


def rate(signal: Matrix, period: float) -> Matrix:
    """Return the time derivative of a signal (m, n) by central differences of fourth order.

    The derivatives of the two samples at either end are those of `numpy.gradient`. `period` is the
    sampling period, s.
    """
    result = np.gradient(signal, period, axis=0, edge_order=2)
    inner = 8.0 * (signal[3:-1] - signal[1:-3]) - (signal[4:] - signal[:-4])
    result[2:-2] = inner / (12.0 * period)
    return result


def decimated(signal: Array, period: float, cutoff: float) -> Array:
    """Low-pass filter and downsample a signal (m, ...); remove the end effects of the filter.

    The new sampling rate is about twice the cutoff frequency `cutoff`, Hz, but not above the
    sampling rate 1 / `period`.
    """
    step = max(1, round(0.5 / (cutoff * period)))
    return without_ends(low_passed(signal, period, cutoff), period, cutoff)[::step]


def without_ends(signal: Array, period: float, cutoff: float) -> Array:
    """Remove two periods of the cutoff frequency (Hz) from both ends of a signal (m, ...).

    At most an eighth of the samples is removed from each end. If `low_passed` does not filter the
    signal, two samples are removed.
    """
    if cutoff >= 0.45 / period:
        return signal[2 : len(signal) - 2]
    margin = min(len(signal) // 8, round(2.0 / (cutoff * period)))
    return signal[margin : len(signal) - margin]
