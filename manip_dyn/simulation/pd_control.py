"""`PDControl`: joint feedback as an effort law."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.codegen import Kernels
from manip_dyn.core.checks import Vector, finite_array, shortened
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.linking import instantiate
from manip_dyn.simulation import feedback
from manip_dyn.simulation.effort_laws import (
    INSIDE,
    Pieces,
    Planned,
    ReferenceMotions,
    Schedule,
    references_of,
    schedule_of,
    stops_of,
    targets,
)
from manip_dyn.simulation.function_law import Feedback

COMPENSATIONS = ("none", "gravity", "computed_torque")


@dataclass(frozen=True, eq=False)
class PDControl:
    """Continuous-time PD control towards a target, saturated at the effort limits.

    The reference q_r, v_r, a_r is the motion of a plan, or the target at rest. M is the mass
    matrix, g the gravity efforts, and h the gravity efforts plus those that depend on velocities.
    The efforts depend on `compensation` and on e = stiffness (q_r - q) + damping (v_r - v):

        none              s(t) + e, where s are the efforts of the followed plan, or 0
        gravity           g(q) + e
        computed_torque   M(q) (a_r + e) + h(q, v), the inverse dynamics of the robot

    See Siciliano et al., Robotics (2009), sections 8.5.1 and 8.5.2. M, g and h are those of the
    argument `robot` of `simulate` or `simulate_many`. g and h include the springs of the joints,
    but not the payload or the masses of an individual motion, so that control with an inaccurate
    model can be simulated.

    Attributes:
        target: Positions (n,) or (N, n), rad or m, or a `Plan`, or a list of N plans. With a plan,
            the control follows the motion and then holds the goal.
        stiffness: A number, (n,) or (N, n), 0 or more: N m/rad or N/m; 1/s^2 with computed torque.
        damping: A number, (n,) or (N, n), 0 or more: N m s/rad or N s/m; 1/s with computed torque.
        compensation: ``"none"``, ``"gravity"`` or ``"computed_torque"``.
    """

    target: ArrayLike | Planned | Sequence[Planned]
    stiffness: ArrayLike
    damping: ArrayLike
    compensation: str = "none"

    def __post_init__(self) -> None:
        """Check target, gains and compensation."""
        _check_target(self.target)
        choice: Any = self.compensation
        if choice not in COMPENSATIONS:
            raise ManipDynError(
                f"compensation must be one of {', '.join(COMPENSATIONS)}, got {choice!r}."
            )
        for name in ("stiffness", "damping"):
            value: Any = getattr(self, name)
            try:
                numbers = np.array(value, dtype=np.float64)
            except (TypeError, ValueError, OverflowError) as error:
                message = f"{name} must be numbers, 0 or more, got {value!r}."
                raise ManipDynError(message) from error
            wrong = numbers[~(np.isfinite(numbers) & (numbers >= 0.0))]
            if wrong.size:
                raise ManipDynError(f"{name} must be numbers, 0 or more, got {wrong[0]:g}.")


def _check_target(target: Any) -> None:
    listed = target if isinstance(target, (list, tuple)) else [target]
    if listed and all(isinstance(plan, Planned) for plan in listed):
        return
    try:
        numbers = np.array(target if target is not None else "none", dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ManipDynError(
            "target must be positions (n,) or (N, n), a plan, or a list of plans, got "
            f"{shortened(target)}."
        ) from error
    wrong = numbers[~np.isfinite(numbers)]
    if wrong.size or not numbers.size:
        shown = f"{wrong[0]}" if wrong.size else "none"
        raise ManipDynError(f"target must be finite positions, rad or m, got {shown}.")


class PDLaw(Feedback):
    """The effort law of a `PDControl`, with the switches of its plan.

    The law is always compiled; see `feedback.of_pd` for `arrays`.
    """

    def __init__(self, kernels: Kernels, control: PDControl, period: float):
        """Set the arm, the control, and the time `period` (s) for which plan efforts are held.

        Raises:
            ManipDynError: If the target or the gains are not those of a single motion of n joints,
                or if a plan is for an arm with other joints.
        """
        robot, n = kernels.robot, kernels.robot.n
        self._robot, self.weightless = robot, False
        references, self._feedforward = _references_and_efforts(kernels, control, period)
        stiffness, damping = control.stiffness, control.damping
        gains = np.stack([_row("stiffness", stiffness, n), _row("damping", damping, n)])
        q, v, tau, a, feedforward = (np.zeros(n) for _ in range(5))
        self._span = np.zeros(2)
        self.arrays = (
            *(np.array(robot.tau_max), q, v, tau, a),
            *(gains, references.knots, references.states, self._span, feedforward),
        )
        number = COMPENSATIONS.index(control.compensation)
        arguments: dict[Any, Any] = {feedback.joints: n, feedback.compensation: number}
        arguments[feedback.inverse_dynamics] = feedback.inverse_dynamics
        if number != feedback.NONE:
            arguments[feedback.inverse_dynamics] = kernels.in_place.inverse_dynamics
        self.efforts = instantiate(feedback.of_pd, arguments)

    def enter(self, begin_ns: int, end_ns: int) -> None:
        """Set an interval between two switches of the plan, and the plan's efforts in it."""
        self._span[:] = 1e-9 * begin_ns + INSIDE, 1e-9 * end_ns - INSIDE
        self.arrays[-1][:] = self._feedforward.effort(begin_ns, self._span, self._span)

    def next_switch(self, time_ns: int) -> int | None:
        """Return the time (ns) of the next switch of the plan, or None."""
        return self._feedforward.next_switch(time_ns)

    def pieces(self) -> Pieces:
        """Return the feedforward efforts for compiled code, with arrays that the law reads."""
        return self._feedforward.pieces()._replace(current=self.arrays[-1], span=self._span)


def _references_and_efforts(
    kernels: Kernels, control: PDControl, period: float
) -> tuple[ReferenceMotions, Schedule]:
    """Return the references and the feedforward schedule.

    The schedule contains zeros unless a plan is followed without compensation.
    """
    robot, target = kernels.robot, control.target
    if isinstance(target, (list, tuple)) and target and isinstance(target[0], Planned):
        if len(target) > 1:
            raise ManipDynError(
                f"target must be one plan for a single motion, got {len(target)}. Use "
                "simulate_many for several motions."
            )
        target = target[0]
    if isinstance(target, Planned):
        feedforward = schedule_of if control.compensation == "none" else stops_of
        return references_of(robot, [target], period), feedforward(robot, target, period)
    rest = Schedule(robot, [0], [np.zeros(robot.n)])
    return targets(_row("target", target, robot.n)[None]), rest


def _row(name: str, value: Any, size: int) -> Vector:
    """Broadcast a number, (size,) or (1, size) to (size,)."""
    try:
        shape = np.shape(value)
    except ValueError:
        shape = (-1,)
    if shape == ():
        return np.full(size, finite_array(name, value, ()))
    if len(shape) == 2 and shape[0] != 1:
        raise ManipDynError(
            f"{name} must have one row for a single motion, got {shape[0]}. Use simulate_many for "
            "several motions."
        )
    return finite_array(name, np.ravel(np.asarray(value)) if len(shape) == 2 else value, (size,))
