"""The arm of the simulator node: fresh commands, followed trajectories, diagnostic state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from rclpy.node import Node

from manip_dyn.control import JointMotion
from manip_dyn.control.joint_trajectory import Code, Outcome, RejectedTrajectoryError, Waypoint
from manip_dyn.control.trajectory_follower import Tolerances
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.diagnostics import ERROR, OK, WARN
from manip_dyn.ros.follow_joint_trajectory import FollowJointTrajectory, Progress
from manip_dyn.ros.messages.trajectories import TrajectoryGoal
from manip_dyn.ros.stepper import Stepper
from manip_dyn.simulation import EffortLaw
from manip_dyn.simulation.commanded_arm import CommandedArm, Following

HELD_SENTENCE = "the position commanded last is held"
ROUNDING = 1e-9
"""How far a joint that is at its limit may seem to be beyond it, rad or m."""


class ArmFacts(NamedTuple):
    """What is known of the arm.

    Attributes:
        fault: Why it cannot go on; empty if it can.
        beyond: By how much joints are beyond their limits, as words by joint.
        at_stops: Whether all of them are within the give of a mechanical stop.
        commanders: Names of those who publish commands.
        handover: Why the safe command has taken over; empty if it has not.
        safe_command: Its name.
        overruns: Periods that were missed in the last while.
        paused: Whether time stands still.
        commanded: Whether a command has come.
        holding: Whether the arm rests where it was told to be, without a command for so long.
    """

    fault: str = ""
    beyond: tuple[str, ...] = ()
    at_stops: bool = False
    commanders: tuple[str, ...] = ()
    handover: str = ""
    safe_command: str = "brake"
    overruns: int = 0
    paused: bool = False
    commanded: bool = True
    holding: bool = False


class Condition(NamedTuple):
    """State, level and sentence."""

    state: str
    level: bytes
    sentence: str


def condition(now: ArmFacts) -> Condition:
    """Return the worst that is to be said: the first that holds."""
    where = ", ".join(now.beyond)
    if now.fault:
        return Condition("fault", ERROR, f"{now.fault}; call ~/reset to start anew")
    if now.beyond and not now.at_stops:
        return Condition("outside_limits", ERROR, f"outside its limits: {where}")
    if len(now.commanders) > 1:
        names = ", ".join(now.commanders)
        return Condition(
            "second_commander", WARN, f"{len(now.commanders)} publishers of commands: {names}"
        )
    if now.handover:
        return Condition("lost_commander", WARN, f"{now.handover}: {now.safe_command}")
    if now.holding and not now.commanders:
        return Condition("lost_commander", WARN, f"nobody publishes commands: {HELD_SENTENCE}")
    if now.beyond:
        return Condition("at_stop", WARN, f"at its stop: {where}")
    if now.overruns:
        return Condition("overruns", WARN, f"overruns in the last while: {now.overruns}")
    if now.paused:
        return Condition("paused", OK, "paused")
    if not now.commanded:
        return Condition("waiting", OK, f"no command yet: {now.safe_command}")
    if now.holding:
        return Condition("holding", OK, f"no new command: {HELD_SENTENCE}")
    return Condition("running", OK, "running")


def beyond_limits(robot: Robot, q: Vector) -> dict[str, tuple[float, str]]:
    """Return by how much, and in words, the joints at q (n,) are beyond their limits."""
    found = {}
    for i, name in enumerate(robot.joint_names):
        low, high = robot.q_min[i] - q[i], q[i] - robot.q_max[i]
        if max(low, high) > ROUNDING:
            amount, side = max(low, high), "lower" if low > high else "upper"
            found[name] = amount, f"{name} {amount:.3g} {robot.unit(i)} beyond its {side} limit"
    return found


RESET_SETTLING = 0.05
"""Wall time after a reset in which commands still answer what the arm was before it, s."""


class TimeControl(Protocol):
    """How time passes.

    Attributes:
        paused: Whether it stands still until it is told otherwise.
    """

    paused: bool

    @property
    def lockstep(self) -> bool:
        """Whether it only passes when it is told to."""


class FreshCommands:
    """A commanded arm that takes no command from before a reset, and none that a pause made old.

    Attributes:
        arm: The arm.
        handover: Why the safe command has taken over, as a sentence; empty if it has not.
    """

    def __init__(self, arm: CommandedArm):
        """Take the arm."""
        self.arm, self.handover = arm, ""
        self._since_ns, self._sent_ns = time.time_ns(), 0
        self._was_paused = False
        self._passing: TimeControl | None = None

    def listen(self, passing: TimeControl) -> None:
        """Expect commands from now on, while time passes as `passing` says."""
        self._passing = passing

    @property
    def time_ns(self) -> int:
        """Simulated time."""
        return self.arm.time_ns

    def reset(self) -> None:
        """Go back to the start; what is sent before `SETTLE` is over is from before.

        Where time stands still, a controller answers the state of the start, which nobody hears
        before then.
        """
        self.arm.reset()
        self._since_ns = time.time_ns()
        if self._passing is not None:
            self._since_ns += round(1e9 * RESET_SETTLING)
            if self._passing.paused or self._passing.lockstep:
                time.sleep(RESET_SETTLING)
        self._was_paused, self.handover = False, ""

    def check(self, sent_ns: int) -> None:
        """Raise `ManipDynError` if a command was sent, ns of the wall clock, before a reset."""
        if sent_ns < self._since_ns:
            raise ManipDynError(
                f"a command was sent {1e-9 * (self._since_ns - sent_ns):.3f} s before the reset "
                "was done; expected one for the arm as it is now"
            )

    def command(self, law: EffortLaw, sent_ns: int) -> None:
        """Let efforts act that were sent at `sent_ns`, ns of the wall clock."""
        self.check(sent_ns)
        self.arm.command(law)
        self._sent_ns, self.handover = sent_ns, ""
        self.stand_still()

    def stand_still(self) -> None:
        """Note that time stands still, if it does; to be called now and then meanwhile."""
        self._was_paused = self._was_paused or self._paused

    def advance(self, duration_ns: int) -> None:
        """Move on, see `Simulation.advance`."""
        if self._was_paused and not self._paused:
            self._was_paused = False
            self._end_pause()
        before = self.arm.timed_out
        self.arm.advance(duration_ns)
        if self.arm.timed_out and not before:
            self.handover = f"no command for {self.arm.timeout:g} s"

    @property
    def _paused(self) -> bool:
        return self._passing is not None and self._passing.paused

    def _end_pause(self) -> None:
        if self._passing is not None and self._passing.lockstep:
            return  # the command answers the state of the pause, however long it was
        age = 1e-9 * (time.time_ns() - self._sent_ns)
        arm = self.arm
        waited = arm.commanded and not arm.timed_out and not arm.holding
        if waited and age > arm.timeout > 0.0:
            arm.time_out()
            self.handover = f"the last command was {age:.1f} s old when the pause ended"


def sent_at(info: Mapping[str, Any]) -> int:
    """Return when a message was sent, ns of the wall clock, from what rclpy tells of it."""
    return info.get("source_timestamp") or info.get("received_timestamp") or time.time_ns()


NEVER_OLD = 2**62
"""When a law of this process was sent, ns of the wall clock: a pause makes it no older."""
RESET = Outcome(Code.INVALID_GOAL, "the arm was reset")
TAKEN_OVER = Outcome(Code.INVALID_GOAL, "another command took over")


class FollowedTrajectory:
    """One of them."""

    def __init__(self, law: Following, commands: FreshCommands, stepper: Stepper):
        """Take the effort law that follows, the arm and its time."""
        self.law, self._commands, self._stepper = law, commands, stepper

    @property
    def outcome(self) -> Outcome | None:
        """How it ended; None while it goes on."""
        if self._stepper.fault:
            self.law.end(Outcome(Code.INVALID_GOAL, self._stepper.fault))
        return self.law.outcome

    def stop(self, outcome: Outcome) -> None:
        """Brake and hold."""
        with self._stepper.lock:
            self.law.stop(outcome)

    def progress(self) -> Progress:
        """Return where the arm is and where it is to be."""
        with self._stepper.lock:
            simulation = self._commands.arm.simulation
            t, *wanted = self.law.desired(simulation.time_ns)
            stamp, q, v = self._stepper.stamp_ns, simulation.q, simulation.v
        return Progress(stamp, t, JointMotion(*wanted), q, v)


class Trajectories:
    """Follows one after the other, as commands of this node."""

    def __init__(self, node: Node, commands: FreshCommands, stepper: Stepper, brake_rate: float):
        """Offer topic and action for the arm of `commands`, whose time `stepper` lets pass."""
        self._commands, self._stepper, self._brake_rate = commands, stepper, brake_rate
        self._law: Following | None = None
        self._prepare()
        self._requests = FollowJointTrajectory(node, commands.arm.simulation.robot, self)

    def close(self) -> None:
        """Take no more."""
        self._requests.close()

    def _prepare(self) -> None:
        """Load what following needs, so that the first trajectory finds it."""
        simulation = self._commands.arm.simulation
        now = simulation.time_ns, simulation.q, simulation.v
        here = [Waypoint(0, simulation.q)]
        law = Following(simulation.kernels, here, Tolerances.of(simulation.robot), 0, now)
        law.effort(*now)

    def check(self, goal: TrajectoryGoal, info: Mapping[str, Any] | None = None) -> None:
        """Raise `RejectedTrajectoryError` if it may not begin now, or is from before a reset."""
        with self._stepper.lock:
            try:
                self._commands.check(NEVER_OLD if info is None else sent_at(info))
            except ManipDynError as error:
                raise RejectedTrajectoryError(Code.INVALID_GOAL, str(error)) from error
            goal.start_ns(self._stepper.stamp_ns)
            if self._stepper.fault:
                raise RejectedTrajectoryError(Code.INVALID_GOAL, self._stepper.fault)

    def begin(self, goal: TrajectoryGoal) -> FollowedTrajectory:
        """Follow it from now on."""
        with self._stepper.lock:
            simulation = self._commands.arm.simulation
            start = goal.start_ns(self._stepper.stamp_ns) - self._stepper.origin_ns
            self._law = Following(
                simulation.kernels,
                goal.waypoints,
                goal.tolerances,
                start,
                (simulation.time_ns, simulation.q, simulation.v),
                self._brake_rate,
            )
            self._commands.command(self._law, NEVER_OLD)
            return FollowedTrajectory(self._law, self._commands, self._stepper)

    def go_on(self) -> None:
        """Command what is followed anew, unless something else drives the arm.

        To be called in every control period, by whoever has the stepper's lock.
        """
        if self._law is None:
            return
        arm = self._commands.arm
        if arm.simulation.law is self._law:
            self._law.update(arm.time_ns, arm.simulation.q, arm.simulation.v)
            self._commands.command(self._law, NEVER_OLD)
        else:
            self._law.end(TAKEN_OVER if arm.commanded else RESET)
            self._law = None
