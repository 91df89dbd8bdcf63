"""`PDControl` of one arm as an effort law."""

from __future__ import annotations

from typing import Any

import numpy as np

from manip_dyn.codegen import Kernels
from manip_dyn.core.checks import Vector, finite_array
from manip_dyn.core.compiled.specialized import specialized
from manip_dyn.core.errors import ManipDynError
from manip_dyn.simulation.laws import pd_efforts
from manip_dyn.simulation.laws.effort_laws import Schedule
from manip_dyn.simulation.laws.function_law import Feedback
from manip_dyn.simulation.laws.pd_control import PDControl
from manip_dyn.simulation.laws.references import (
    INSIDE,
    Planned,
    References,
    references_of,
    schedule_of,
    stops_of,
    targets,
)


class PDLaw(Feedback):
    """The efforts of a `PDControl`; they jump where those of a plan do.

    Compiled from the beginning; see `pd_efforts` for `arrays`.
    """

    def __init__(self, kernels: Kernels, control: PDControl, period: float):
        """Take an arm, the control, and for how long, s, efforts of a plan are held.

        Raises:
            ManipDynError: If target or gains have another shape than (n,), or for a plan of
                another arm.
        """
        robot, n = kernels.robot, kernels.robot.n
        self._robot, self.weightless = robot, False
        references, self._beside = _followed(kernels, control, period)
        stiffness, damping = control.stiffness, control.damping
        gains = np.stack([_row("stiffness", stiffness, n), _row("damping", damping, n)])
        q, v, tau, a, beside = (np.zeros(n) for _ in range(5))
        self._span = np.zeros(2)
        self.arrays = (
            *(np.array(robot.tau_max), q, v, tau, a),
            *(gains, references.knots, references.states, self._span, beside),
        )
        module: Any = specialized(
            pd_efforts,
            inverse_dynamics=kernels.in_place.inverse_dynamics,
            N=n,
            GRAVITY=control.compensation == "gravity",
            COMPUTED=control.compensation == "computed_torque",
        )
        self.efforts = module.of_pd

    def enter(self, begin_ns: int, end_ns: int) -> None:
        """Prepare for the time between two jumps; there, accelerations that are followed jump."""
        self._span[:] = 1e-9 * begin_ns + INSIDE, 1e-9 * end_ns - INSIDE
        self.arrays[-1][:] = self._beside.effort(begin_ns, self._span, self._span)

    def next_switch(self, time_ns: int) -> int | None:
        """Return the next jump of what a plan gives, or None."""
        return self._beside.next_switch(time_ns)


def _followed(kernels: Kernels, control: PDControl, period: float) -> tuple[References, Schedule]:
    """Return what is followed, and the efforts that act beside the feedback."""
    robot, target = kernels.robot, control.target
    if isinstance(target, (list, tuple)) and target and isinstance(target[0], Planned):
        if len(target) > 1:
            raise ManipDynError(
                f"target has {len(target)} plans; expected one for a single motion, or "
                "simulate_many"
            )
        target = target[0]
    if isinstance(target, Planned):
        beside = schedule_of if control.compensation == "none" else stops_of
        return references_of(robot, [target], period), beside(robot, target, period)
    rest = Schedule(robot, [0], [np.zeros(robot.n)])
    return targets(_row("target", target, robot.n)[None]), rest


def _row(name: str, value: Any, size: int) -> Vector:
    """Return a number, (size,) or (1, size) as (size,)."""
    try:
        shape = np.shape(value)
    except ValueError:
        shape = (-1,)
    if shape == ():
        return np.full(size, finite_array(name, value, ()))
    if len(shape) == 2 and shape[0] != 1:
        raise ManipDynError(
            f"{name} has {shape[0]} rows; expected one for a single motion, or simulate_many"
        )
    return finite_array(name, np.ravel(np.asarray(value)) if len(shape) == 2 else value, (size,))
