"""Integrators of simulations: method, step or tolerances, and the joint limits that end a motion.

With `stop_at_limits`, joint limits are events: the time at which a joint reaches a limit is exact
except for rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector, nanoseconds, not_negative, truth
from manip_dyn.core.compiled import compiled
from manip_dyn.core.deprecation import renamed_attribute, warn_deprecated
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.integration import METHODS, Events, Method, StepControl
from manip_dyn.integration.methods.method import HIGHEST_ORDER, LOWEST_ORDER, order_for
from manip_dyn.integration.settings import check_step_limits, checked_control
from manip_dyn.robot import Robot

SMALLEST_TOLERANCE = 1e-20
"""Smallest tolerance above 0. Rounding errors are about 1e-16."""


@dataclass(frozen=True)
class Integrator:
    """A method of `md.METHODS` and its step size.

    Attributes:
        method: Name in `md.METHODS`, or a `Method`.
        step: Fixed step, s; unused with tolerances.
        rtol: Relative tolerance. Fixed steps if `rtol` and `atol` are both 0.
        atol: Absolute tolerance: rad or m for positions, rad/s or m/s for velocities, and J for
            the work. 0 stands for `rtol`.
        order: Order of a Taylor series. Default, None or 0: determined by the tolerances.
        stop_at_limits: Whether a joint that reaches a position limit ends the simulation.
        control: Step control. Default: `StepControl()` without a limit on the number of steps.
    """

    method: str | Method = "rk4"
    step: float = 1e-3
    rtol: float = 0.0
    atol: float = 0.0
    order: int | None = None
    stop_at_limits: bool = False
    control: StepControl | None = None

    def __post_init__(self) -> None:
        """Check the values and their combination."""
        method: Any = self.method
        valid = isinstance(method, Method) or (isinstance(method, str) and method in METHODS)
        if not valid:
            hint = closest(str(method), METHODS)
            raise ManipDynError(f"method must be one of md.METHODS, got {method!r}{hint}")
        nanoseconds("step", self.step)
        truth("stop_at_limits", self.stop_at_limits)
        for name, tolerance in (("rtol", self.rtol), ("atol", self.atol)):
            if 0.0 < not_negative(name, tolerance) < SMALLEST_TOLERANCE:
                raise ManipDynError(
                    f"{name} must be 0, or {SMALLEST_TOLERANCE:g} or more, got {tolerance:g}."
                )
        self._check_order()
        if self.adaptive and not self.solver.adaptive:
            raise ManipDynError(
                f"rtol and atol must be 0 for method '{self.solver.name}', which has no error "
                f"estimate, got {self.rtol:g} and {self.atol:g}. Use a method such as rkdp87."
            )
        if self.control is not None:
            checked_control(self.control)
            check_step_limits(self.control, self.solver.name, self.adaptive, self.series)

    def _check_order(self) -> None:
        order: Any = self.order
        if order in (None, 0) and not isinstance(order, bool):
            if self.series and not self.adaptive:
                raise ManipDynError(
                    f"order must be a whole number from {LOWEST_ORDER} to {HIGHEST_ORDER} for "
                    f"method 'taylor' without tolerances, got {order}. Set order or rtol."
                )
            return
        whole = isinstance(order, int) and not isinstance(order, bool)
        if not whole or not LOWEST_ORDER <= order <= HIGHEST_ORDER:
            raise ManipDynError(
                f"order must be None or a whole number from {LOWEST_ORDER} to {HIGHEST_ORDER}, "
                f"got {order!r}."
            )
        if not self.series:
            raise ManipDynError(
                f"order must be None for method '{self.solver.name}', got {order}. Only method "
                "'taylor' has a variable order."
            )

    @property
    def solver(self) -> Method:
        """The `Method` object."""
        return self.method if isinstance(self.method, Method) else METHODS[self.method]

    found = renamed_attribute("Integrator.found", "solver")

    @property
    def adaptive(self) -> bool:
        """Whether tolerances determine the step."""
        return self.rtol > 0.0 or self.atol > 0.0

    @property
    def implicit(self) -> bool:
        """Whether the method uses the derivatives of the rates of the state."""
        return self.solver.implicit

    @property
    def series(self) -> bool:
        """Whether the method uses the Taylor series of the motion."""
        return self.solver.series

    @property
    def tolerances(self) -> tuple[float, float]:
        """Relative and absolute tolerance. Joints at rest at zero require an absolute one."""
        return self.rtol, self.atol or self.rtol

    @property
    def orders(self) -> tuple[int, int]:
        """Orders of a Taylor series for relative and absolute tolerance; 0 for other methods.

        Both are `order` if it is set.
        """
        if not self.series:
            return 0, 0
        rtol, atol = self.tolerances
        return self.order or order_for(rtol or atol), self.order or order_for(atol)


def checked_order(order: int | None, taylor_order: int | None) -> int | None:
    """Return `order`, or the value of its deprecated name `taylor_order` with a warning."""
    if taylor_order is None:
        return order
    warn_deprecated("taylor_order", "order", stacklevel=4)
    return taylor_order


class JointLimits:
    """The finite position limits of an arm.

    Attributes:
        events: Zero crossings of the distances from the limits, rad or m.
    """

    def __init__(self, robot: Robot):
        """Compile the limits of a robot with at least one finite limit."""
        n = robot.n
        bounds = np.concatenate([robot.q_min, robot.q_max])
        finite = np.flatnonzero(np.isfinite(bounds))
        joints, signs = finite % n, np.where(finite < n, 1.0, -1.0)
        limits = bounds[finite]

        @compiled(merge=True)
        def distances(t, y, p, out):
            for k in range(joints.size):
                out[k] = signs[k] * (y[joints[k]] - limits[k])

        self.events = Events(distances, count=len(finite), direction=-1)
        self._names = [robot.joint_names[joint] for joint in joints]
        self._sides = np.where(finite < n, "lower", "upper")

    def reached(self, y: Vector) -> str:
        """Return a clause that names the joint and the position limit nearest to the state (m,).

        The state must be that of an arm that has reached a limit.
        """
        nearest = int(np.argmin(self.distances(y)))
        return f"joint '{self._names[nearest]}' reached its {self._sides[nearest]} limit"

    def distances(self, y: Vector) -> Vector:
        """Return the distances (k,) of the state (m,) from the limits, rad or m.

        A distance is negative beyond its limit.
        """
        distances = np.empty(len(self._names))
        self.events.function(0.0, y, None, distances)
        return distances


@lru_cache(maxsize=32)
def joint_limits(robot: Robot) -> JointLimits | None:
    """Return the limits of a robot, compiled once, or None if no limit is finite."""
    finite = np.isfinite(robot.q_min) | np.isfinite(robot.q_max)
    return JointLimits(robot) if finite.any() else None


def limits_of(robot: Robot, integrator: Integrator) -> JointLimits | None:
    """Return the joint limits of a robot if they end the motion, else None."""
    return joint_limits(robot) if integrator.stop_at_limits else None
