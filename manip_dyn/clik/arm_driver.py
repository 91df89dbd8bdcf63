"""`ArmDriver`: computed torque along a joint reference, from measured states.

The time of the reference follows the stamps of the states, so all runs in lockstep with a
simulator are identical. The path restarts after a reset of the arm. After missing states or a
large error, the driver resumes the path from the position of the arm. A fast arm is braked first.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.clik.samples import TrackingSample
from manip_dyn.codegen import customize
from manip_dyn.control.computed_torque import ComputedTorque, Efforts, JointMotion
from manip_dyn.control.continuity import MeasuredState, reset_reason
from manip_dyn.control.joint_drives import Brake
from manip_dyn.core.checks import Vector


class ReferencePoint(NamedTuple):
    """Reference motion and sample of a control period, and whether the arm follows the path."""

    motion: JointMotion
    sample: TrackingSample
    on_path: bool


class ArmDriver:
    """Controller that moves an arm along a joint reference and responds to each measured state.

    Efforts act a time `lead` after their state. They are therefore the efforts for the reference
    at that time, and for a state whose deviation from the reference is the measured one. With an
    exact model, the feedback is zero for every lead.

    Efforts are held for the time `gap` longer if the next states are missing. They are therefore
    those for the mean acceleration of the reference over a period and this time. A reference
    velocity that changes in one period, for example at a joint limit, then changes the velocity of
    the arm once. Otherwise, it would change it again in each period without a state.

    Attributes:
        controller: Controller that computes the efforts.
        lead: Time from a state to the effect of its efforts, s.
        gap: Longest time without states that is expected, in addition to the period, s.
        desired: Reference motion of the joints in the current period.
        paused: Whether the arm is held at the current reference.
        steps: Control periods since the path was last started or resumed.
        pick_ups: Number of times the path was resumed from the position of the arm.
        resets: Number of resets of the arm.
        reason: Reason for the last resumption or reset.
        news: Log messages about joints at their effort limits; the caller removes them.
    """

    desired: JointMotion

    def __init__(
        self,
        reference: JointReference,
        controller: ComputedTorque,
        begun: Callable[[int], None],
        before_step: Callable[[], None] = lambda: None,
        *,
        straight: bool = True,
        timeout: float = 0.5,
        max_error: float = 0.2,
        max_speed: float = 0.5,
    ):
        """Prepare to follow a reference.

        Args:
            reference: Reference motion of the joints.
            controller: Computes the efforts; its period is the reference's step.
            begun: Called with the stamp (ns) of path time 0 whenever the arm starts or resumes
                the path.
            before_step: Called before every step of the reference.
            straight: Whether an arm off the path first approaches it along a straight line.
            timeout: Time without states after which the path is resumed from the arm's position,
                s; at least ten periods.
            max_error: Joint error above which the path is resumed, rad or m.
            max_speed: Joint speed above which the arm is braked to half this speed before the path
                starts or is resumed, rad/s or m/s.
        """
        self.controller, self._reference, self._robot = controller, reference, controller.robot
        self._begun, self._before_step = begun, before_step
        self._straight, self._max_error, self._max_speed = straight, max_error, max_speed
        self._period, self._period_ns = controller.period, round(1e9 * controller.period)
        self._timeout = max(timeout, 10.0 * self._period)
        self.paused, self.reason, self.lead, self.gap = False, "", 0.0, 0.0
        self.pick_ups = self.resets = self.steps = self._from_ns = 0
        self.news: list[str] = []
        self._newest: MeasuredState | None = None
        self._take_up: Callable[[int, Vector], None] | None = self._begin
        self._brake = Brake(customize(self._robot), period=self._period)
        self._braked = False
        self._points: deque[ReferencePoint] = deque()  # from the newest state on
        self._error = np.zeros(self._robot.n)
        self._limited: set[str] = set()

    @property
    def stamp_ns(self) -> int | None:
        """Stamp of the newest state, ns; None before the first state and after `restart`."""
        return None if self._newest is None else self._newest.stamp_ns

    @property
    def braking(self) -> bool:
        """Whether the arm is being braked before it follows the reference."""
        return self._braked

    @property
    def newest(self) -> ReferencePoint | None:
        """Reference at the newest state; None while the arm is braked."""
        return self._points[0] if self._points and not self._braked else None

    def hold(self, duration_ns: int) -> None:
        """Delay the reference by a time in which a brake acted, rounded up to periods, ns."""
        self._from_ns += -(-duration_ns // self._period_ns) * self._period_ns

    def restart(self) -> None:
        """Restart the path with the next state."""
        self._newest, self._error = None, np.zeros(self._robot.n)

    def answer(self, stamp_ns: int, q: Vector, v: Vector) -> Efforts:
        """Return the efforts for the period that follows a state with a new stamp.

        Args:
            stamp_ns: Stamp of the state, ns.
            q: Measured positions (n,), rad or m.
            v: Measured velocities (n,), rad/s or m/s.
        """
        self._look(MeasuredState(stamp_ns, q, v))
        self._newest = MeasuredState(stamp_ns, q, v)
        if self._take_up is not None and not self._too_fast(v):
            take_up, self._take_up = self._take_up, None
            take_up(stamp_ns, q)
        self._braked = self._take_up is not None
        return (
            self._brake_efforts(stamp_ns, q, v) if self._braked else self._reference_efforts(q, v)
        )

    def report(self) -> dict[str, Any]:
        """Return named values for diagnostics."""
        counts = {
            "braking": self._braked,
            "joints that met an effort limit": ", ".join(sorted(self._limited)) or "none",
            "times the path was resumed": self.pick_ups,
            "times the arm was reset": self.resets,
            "reason of the last restart": self.reason or None,
        }
        if self._braked or self._newest is None:
            return counts
        return {
            "joint error [rad or m]": float(np.abs(self._error).max()),
            "moving to the path": not self._reference.on_path,
            **counts,
        }

    # ------------------------------------------------------------------ efforts
    def _reference_efforts(self, q: Vector, v: Vector) -> Efforts:
        first = round(self.lead / self._period)
        last = first + round(self.gap / self._period)
        while len(self._points) <= last:
            self._look_ahead()
        acting = [self._points[k].motion for k in range(first, last + 1)]
        self.desired, ahead = self._points[0].motion, acting[len(acting) // 2]
        if len(acting) > 1:
            ahead = ahead._replace(a=np.mean([motion.a for motion in acting], axis=0))
        if self.paused:
            zero = np.zeros_like(q)
            self.desired, ahead = (JointMotion(m.q, zero, zero) for m in (self.desired, ahead))
        self._error = self.desired.q - q
        there = q + (ahead.q - self.desired.q), v + (ahead.v - self.desired.v)
        efforts = self.controller.efforts(*there, ahead)
        self._note(efforts)
        return efforts

    def _brake_efforts(self, stamp_ns: int, q: Vector, v: Vector) -> Efforts:
        self.desired = JointMotion(q, np.zeros_like(q), np.zeros_like(q))
        effort = self._brake.effort(stamp_ns, q, v)
        return Efforts(effort, np.abs(effort) >= self._robot.tau_max)

    def _too_fast(self, v: Vector) -> bool:
        return float(np.abs(v).max()) > self._max_speed * (0.5 if self._braked else 1.0)

    # ------------------------------------------------------------------ checks of states
    def _look(self, state: MeasuredState) -> None:
        """Advance the reference to a state, or schedule a restart if the arm was reset."""
        if self._newest is None:
            self._take_up = self._begin
            return
        reset = reset_reason(self._robot, self._newest, state)
        if reset:
            self.resets += 1
            self.reason = reset
            self._take_up = self._begin
        elif self._take_up is None:
            self._follow(state.stamp_ns, state.q)

    def _lose(self, reason: str) -> None:
        self.pick_ups += 1
        self.reason = reason
        self._take_up = self._resume

    # ------------------------------------------------------------------ starts
    def _begin(self, stamp: int, q: Vector) -> None:
        self._limited.clear()
        self._reference.begin(q, straight=self._straight)
        self._start_steps(stamp)

    def _resume(self, stamp: int, q: Vector) -> None:
        """Resume from the arm's position: approach the path along a line, then follow it."""
        self._reference.begin(q, self._reference.path_time, straight=True)
        self._start_steps(stamp)

    def _start_steps(self, stamp: int) -> None:
        self.steps, self._from_ns = 0, stamp
        self._points = deque([self._point()])
        self._path_begins(stamp)

    def _path_begins(self, stamp: int) -> None:
        if self._reference.on_path:
            self._begun(stamp - round(self._reference.sample.path_time * 1e9))

    # ------------------------------------------------------------------ following
    def _follow(self, stamp: int, q: Vector) -> None:
        """Advance the reference to `stamp` (ns), or schedule a resumption.

        The path is resumed after missing states and after large joint errors.
        """
        steps = round((stamp - self._from_ns) * 1e-9 / self._period) - self.steps
        if steps * self._period > self._timeout:
            self._lose(f"no joint state for {steps * self._period:.3f} s")
            return
        off = np.abs(self._points[0].sample.q - q)
        if off.max() > self._max_error:
            joint = int(off.argmax())
            name, unit = self._robot.joint_names[joint], self._robot.unit(joint)
            self._lose(f"joint '{name}' was {off[joint]:.3g} {unit} off")
            return
        for _ in range(steps):
            if len(self._points) == 1:
                self._look_ahead()
            self._points.popleft()
            self.steps += 1

    def _look_ahead(self) -> None:
        """Append the next point of the reference, or the last one again while paused."""
        if not self.paused:
            was_on_path = self._reference.on_path
            self._before_step()
            self._reference.advance()
            if not was_on_path:
                periods = self.steps + len(self._points)
                self._path_begins(self._from_ns + periods * self._period_ns)
        self._points.append(self._point())

    def _point(self) -> ReferencePoint:
        reference = self._reference
        return ReferencePoint(reference.motion, reference.sample, reference.on_path)

    def _note(self, efforts: Efforts) -> None:
        for joint in np.flatnonzero(efforts.saturated):
            name = self._robot.joint_names[joint]
            if name not in self._limited:
                self._limited.add(name)
                limit = self._robot.tau_max[joint]
                self.news.append(f"joint '{name}' requires more than its effort limit {limit:g}")
