"""`identify`: what an arm weighs and rubs, from a log of its motion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Matrix, Vector, finite_array, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.identification.base import base_parameters, observation
from manip_dyn.identification.estimate import least_squares
from manip_dyn.identification.regressor import (
    OF_A_JOINT,
    checked_estimated,
    spring_efforts,
    stated_parameters,
)
from manip_dyn.identification.result import Identification
from manip_dyn.identification.signals import decimated, evenly, low_passed, rate, without_ends
from manip_dyn.identification.table import from_csv
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

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
