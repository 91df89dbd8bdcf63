"""`identify`: dynamic parameters of an arm from a log of its motion."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Matrix, Tensor, Vector, finite_array, positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.identification.parameters import (
    OF_A_JOINT,
    BaseParameters,
    base_parameters,
    checked_estimated,
    observation,
    spring_efforts,
    stated_parameters,
)
from manip_dyn.identification.signals import (
    decimated,
    evenly,
    from_csv,
    low_passed,
    rate,
    without_ends,
)
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

ROUNDS = 3
"""Of weights from residuals, and residuals from weights."""
BLIND = 1e-3
"""Size of a singular value, relative to the largest, below which the data say nothing: what the
model and the filters do not have right is taken for a parameter there, whatever the noise says."""


class Estimate(NamedTuple):
    """What least squares give.

    Attributes:
        values: The parameters (b,).
        covariance: Theirs (b, b); infinite where the data say nothing.
        noise: Standard deviation of the efforts' errors by joint (n,).
        residual: Root mean square of what is left by joint (n,).
        condition: Of the weighted regressor, its columns scaled to length one.
    """

    values: Vector
    covariance: Matrix
    noise: Vector
    residual: Vector
    condition: float


def least_squares(observed: Tensor, efforts: Matrix, assumed: Vector) -> Estimate:
    """Return the parameters that fit efforts best, each joint weighted by its noise.

    Args:
        observed: What each parameter of size one adds to the efforts, (m, n, b).
        efforts: Measured ones (m, n).
        assumed: Values (b,) that directions keep of which the data say nothing.
    """
    m, n, b = observed.shape
    left = efforts - observed @ assumed
    noise = np.maximum(np.std(left, axis=0), np.finfo(float).tiny)
    for _ in range(ROUNDS):
        rows = (observed / noise[:, None]).reshape(m * n, b)
        size = np.linalg.norm(rows, axis=0)
        size[size == 0.0] = 1.0
        u, singular, vt = np.linalg.svd(rows / size, full_matrices=False)
        told = singular > BLIND * singular[0]
        step = vt[told].T @ ((u[:, told].T @ (left / noise).ravel()) / singular[told]) / size
        errors = left - observed @ step
        share = np.einsum("mnk,mnk->n", *[u[:, told].reshape(m, n, -1)] * 2)
        noise = _deviation(errors, share)
    spread = vt[told].T / singular[told]
    covariance = (spread @ spread.T) / np.outer(size, size)
    blind = np.abs(vt[~told]).max(axis=0, initial=0.0) > 1e-6
    covariance[blind, blind] = np.inf
    residual = np.sqrt(np.mean(errors**2, axis=0))
    condition = float(singular[0] / singular[told][-1]) if told.all() else np.inf
    return Estimate(assumed + step, covariance, noise, residual, condition)


def _deviation(errors: Matrix, share: Vector) -> Vector:
    """Return the standard deviations (n,) of errors (m, n), those that follow each other weighted.

    Args:
        errors: What is left.
        share: How many parameters each joint's errors were spent on, (n,).
    """
    m = len(errors)
    variance = np.sum(errors**2, axis=0) / np.maximum(m - share, 1.0)
    following = np.sum(errors[1:] * errors[:-1], axis=0)
    alike = following / np.maximum(np.sum(errors**2, axis=0), np.finfo(float).tiny)
    alike = np.clip(alike, 0.0, 0.95)
    return np.sqrt(np.maximum(variance * (1.0 + alike) / (1.0 - alike), np.finfo(float).tiny))


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """Base parameters of an arm from a log, with their standard deviations.

    Attributes:
        robot: The robot as it was described.
        names: Of the parameter that leads each combination, (b,); `formula` has the others.
        values: Estimates (b,): kg, kg m, kg m^2, and damping, friction and armature of joints.
        deviations: Standard deviations (b,); infinite for what the log does not tell.
        described: What URDF and YAML say, (b,).
        covariance: Of the estimates, (b, b).
        noise: Standard deviation of the measured efforts by joint, (n,), N m or N, as low-passed.
        residual: Root mean square of what the model does not explain by joint, (n,).
        condition: Of the weighted regressor with columns of length one; below 100 is good.
        unseen: Base parameters that this log does not tell one by one: at most sums of them.
        invisible: Parameters that no effort of this arm depends on.
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
        """Return of which arm it is, and how well the log tells its parameters."""
        untold = f", {len(self.unseen)} unseen" if self.unseen else ""
        return (
            f"Identification({len(self.names)} base parameters of '{self.robot.name}'{untold}: "
            f"condition {self.condition:.3g})"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters that lead each combination."""
        return self.base.names

    @property
    def invisible(self) -> tuple[str, ...]:
        """Parameters that no effort of this arm depends on."""
        return self.base.invisible

    def formula(self, name: str) -> str:
        """Return what a base parameter is the sum of, such as ``elbow mx +0.4 wrist m``."""
        if name not in self.names:
            hint = closest(str(name), self.names)
            raise ManipDynError(f"there is no base parameter {name!r}{hint}")
        return self.base.formula(self.names.index(name))

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Matrix:
        """Return the efforts (m, n) of motions (m, n) with the estimates, friction included."""
        first = self._rows("q", q)
        states = [first, self._rows("v", v, len(first)), self._rows("a", a, len(first))]
        efforts = observation(self.robot, self.base, *states) @ self.values
        return efforts + spring_efforts(self.robot, states[0])

    def _rows(self, name: str, value: ArrayLike, count: int | None = None) -> Matrix:
        """Return (n,) or (m, n) as (m, n); m is what it is, or the count."""
        given: Any = value
        try:
            rows = [given] if np.ndim(given) == 1 else given
            size = (len(rows) if count is None else count, self.robot.n)
        except (TypeError, ValueError) as error:
            raise ManipDynError(f"{name} is {value!r}; expected numbers (m, n)") from error
        return finite_array(name, rows, size)

    def content(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
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


WIDER = 4.0
"""How much more of the positions is let through than of the efforts."""


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

    Positions are smoothed without delay and differentiated; efforts and regressor go through
    one and the same filter; joints are weighted by their noise, which is estimated with the
    parameters (weighted least squares). Gautier (1997); Swevers et al. (1997).

    Args:
        robot: Its dimensions and gravity are taken as known, and its springs; its masses and
            friction only where the log does not tell.
        log: A recording of ours (``arm.mcap``); a CSV file with the columns ``t``,
            ``position_JOINT`` and ``effort_JOINT``, as `manip_dyn simulate` writes it; or anything
            with `t`, `q`, `tau` (or `effort`) such as a `Trajectory`; None: the arrays below.
        t: Times (m,), s.
        q: Positions (m, n), rad or m.
        tau: Efforts of the drives (m, n), N m or N.
        v: Velocities (m, n), rad/s or m/s; None: from the positions.
        cutoff: Frequency, Hz, above which the efforts say nothing of the motion; positions are
            smoothed at four times that.
        estimated: Which of ``damping``, ``friction`` and ``armature`` are estimated; the others
            are taken as described.

    Raises:
        ManipDynError: If the log does not fit the robot, has too few samples, or no efforts.
    """
    checked_robot(robot)
    estimated = checked_estimated(estimated)
    if log is not None:
        t, q, tau = _signals(log, robot)
        v = None
    times, places, efforts, speeds = _checked(robot, t, q, tau, v)
    cutoff = positive("cutoff", cutoff, "Hz")
    period, (places, efforts, speeds) = evenly(times, places, efforts, speeds)
    places = low_passed(places, period, WIDER * cutoff)
    moving = low_passed(speeds, period, WIDER * cutoff) if v is not None else rate(places, period)
    base = base_parameters(robot, estimated)
    whole = (places, moving, rate(moving, period), efforts)
    places, moving, gaining, efforts = (
        without_ends(each, period, WIDER * cutoff) for each in whole
    )
    observed = observation(robot, base, places, moving, gaining)
    known = spring_efforts(robot, places) + _resisting(robot, estimated, moving, gaining)
    described = base.of(stated_parameters(robot))
    found = least_squares(
        decimated(observed, period, cutoff),
        decimated(efforts - known, period, cutoff),
        described,
    )
    deviations = np.sqrt(np.diag(found.covariance))
    unseen = [name for name, each in zip(base.names, deviations, strict=True) if np.isinf(each)]
    return Identification(
        robot=robot,
        base=base,
        values=found.values,
        deviations=deviations,
        described=described,
        covariance=found.covariance,
        noise=found.noise,
        residual=found.residual,
        condition=found.condition,
        unseen=tuple(unseen),
    )


def _signals(log: Any, robot: Robot) -> tuple[ArrayLike, ArrayLike, ArrayLike]:
    """Return times, positions and efforts of a file or a result."""
    if isinstance(log, (str, Path)) and Path(log).suffix == ".csv":
        return from_csv(Path(log), robot)
    if isinstance(log, (str, Path)):
        from manip_dyn.recording import read

        log = read(log)
    efforts = getattr(log, "tau", getattr(log, "effort", None))
    if efforts is None or not hasattr(log, "t") or not hasattr(log, "q"):
        what = type(log).__name__
        raise ManipDynError(f"log is a {what}; expected a recording, or t, q and tau")
    told = np.all(np.isfinite(np.column_stack([log.q, efforts])), axis=1)
    return log.t[told], log.q[told], efforts[told]


def _checked(
    robot: Robot, t: Any, q: Any, tau: Any, v: Any
) -> tuple[Vector, Matrix, Matrix, Matrix]:
    """Return clean arrays; velocities that are not given are zeros."""
    if t is None or q is None or tau is None:
        raise ManipDynError("log, t, q or tau is missing; expected a log, or t, q and tau")
    times = finite_array("t", t, (len(np.atleast_1d(t)),))
    shape = (len(times), robot.n)
    speeds = np.zeros(shape) if v is None else v
    places, efforts = finite_array("q", q, shape), finite_array("tau", tau, shape)
    if not (efforts.any() or robot.stiffness.any()):
        raise ManipDynError(
            "tau is zero throughout; expected efforts: a free motion tells ratios, not sizes"
        )
    return times, places, efforts, finite_array("v", speeds, shape)


def _resisting(
    robot: Robot, estimated: tuple[str, ...], moving: Matrix, gaining: Matrix
) -> Matrix:
    """Return what joints resist with by what is described and not estimated, (m, n)."""
    efforts = np.zeros_like(moving)
    if "damping" not in estimated:
        efforts += robot.damping * moving
    if "friction" not in estimated:
        efforts += robot.coulomb_friction * np.sign(moving)
    if "armature" not in estimated:
        efforts += robot.armature * gaining
    return efforts
