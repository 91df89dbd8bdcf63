"""The arm of the simulator node: age of commands, joint trajectories, diagnostic state."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
from rclpy.node import Node

from manip_dyn.control import JointMotion
from manip_dyn.control.joint_trajectory import (
    SPEED_MARGIN,
    Code,
    Outcome,
    RejectedTrajectoryError,
    Waypoint,
)
from manip_dyn.control.trajectory_follower import Tolerances
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.diagnostics import ERROR, OK, SLOW_SENTENCE, WARN
from manip_dyn.ros.follow_joint_trajectory import FollowJointTrajectory, Progress
from manip_dyn.ros.messages.trajectories import TrajectoryGoal
from manip_dyn.ros.stepper import Stepper
from manip_dyn.simulation import EffortLaw
from manip_dyn.simulation.commanded_arm import SLOW, CommandedArm, Following

HELD_SENTENCE = "the last commanded position is held"
RELEASED = "the commander has released the arm"
ENDED = "no command before the end of the last one"
ROUNDING = 1e-9
"""Tolerance for the rounding error of a joint at its limit, rad or m."""


class ArmFacts(NamedTuple):
    """Facts about the arm that determine its diagnostic state.

    Attributes:
        fault: Why the simulation cannot continue, or "".
        beyond: Descriptions of the joints beyond their limits.
        at_stops: Whether the joints in `beyond` are within the compliance of mechanical stops.
        too_fast: Descriptions of the joints whose speed exceeds its limit.
        namesakes: Number of nodes with the name of the simulator.
        commanders: Names of the nodes that publish commands.
        handover: Why the safe command is active, or "".
        safe_command: Name of the safe command.
        slow_share: The real-time share if the simulation is persistently too slow, else None.
        overruns: Number of recent overruns.
        paused: Whether time is paused.
        commanded: Whether a command has been received.
        holding: Whether the arm rests at its last commanded position after a timeout.
    """

    fault: str = ""
    beyond: tuple[str, ...] = ()
    at_stops: bool = False
    too_fast: tuple[str, ...] = ()
    namesakes: int = 1
    commanders: tuple[str, ...] = ()
    handover: str = ""
    safe_command: str = "brake"
    slow_share: float | None = None
    overruns: int = 0
    paused: bool = False
    commanded: bool = True
    holding: bool = False


class Condition(NamedTuple):
    """Diagnostic state of the arm: name, level and message."""

    state: str
    level: bytes
    sentence: str


def condition(now: ArmFacts) -> Condition:
    """Return the first condition that applies.

    Conditions are in order of severity, except that a pause precedes slowness and overruns, which
    happened before it.
    """
    where = ", ".join(now.beyond)
    if now.fault:
        return Condition("fault", ERROR, f"{now.fault}; call ~/reset to restart")
    if now.beyond and not now.at_stops:
        return Condition("outside_limits", ERROR, f"outside its limits: {where}")
    if now.too_fast:
        return Condition("too_fast", ERROR, f"too fast: {', '.join(now.too_fast)}")
    if now.namesakes > 1:
        sentence = f"{now.namesakes} nodes have the name of this simulator"
        return Condition("second_simulator", WARN, sentence)
    if len(now.commanders) > 1:
        sentence = f"{len(now.commanders)} publishers of commands: {', '.join(now.commanders)}"
        if now.handover:  # discovery lists publishers for several seconds after they are killed
            sentence += f"; {now.handover}: {now.safe_command}"
        return Condition("second_commander", WARN, sentence)
    if now.handover:
        return Condition("lost_commander", WARN, f"{now.handover}: {now.safe_command}")
    if now.holding and not now.commanders:
        return Condition("lost_commander", WARN, f"no node publishes commands: {HELD_SENTENCE}")
    if now.beyond:
        return Condition("at_stop", WARN, f"at its stop: {where}")
    if now.paused:
        return Condition("paused", OK, "paused")
    if now.slow_share is not None:
        sentence = SLOW_SENTENCE.format(share=now.slow_share)
        return Condition("slow", WARN, sentence)
    if now.overruns:
        return Condition("overruns", WARN, f"recent overruns: {now.overruns}")
    if not now.commanded:
        return Condition("waiting", OK, f"no command yet: {now.safe_command}")
    if now.holding:
        return Condition("holding", OK, f"no new command: {HELD_SENTENCE}")
    return Condition("running", OK, "running")


def beyond_limits(robot: Robot, q: Vector) -> dict[str, tuple[float, str]]:
    """Return the joints of `q` (n,) that exceed a limit by more than `ROUNDING`.

    Returns:
        The excess (rad or m) and a description by joint name.
    """
    beyond = {}
    for i, name in enumerate(robot.joint_names):
        low, high = robot.q_min[i] - q[i], q[i] - robot.q_max[i]
        if max(low, high) > ROUNDING:
            amount, side = max(low, high), "lower" if low > high else "upper"
            beyond[name] = amount, f"{name} {amount:.3g} {robot.unit(i)} beyond its {side} limit"
    return beyond


def too_fast(robot: Robot, speeds: Vector) -> tuple[str, ...]:
    """Return descriptions of the joints whose speeds (n,) exceed their limits.

    Excesses up to `SPEED_MARGIN`, which trajectories may have, are not reported.
    """
    joints = np.flatnonzero(speeds > (1.0 + SPEED_MARGIN) * robot.v_max).tolist()
    return tuple(
        f"{robot.joint_names[i]} at {speeds[i]:.3g} {robot.unit(i)}/s (limit {robot.v_max[i]:.3g})"
        for i in joints
    )


RESET_SETTLING = 0.05
"""Wall time after a reset for which commands may still refer to states before the reset, s."""


class TimeControl(Protocol):
    """The part of the stepper's interface that describes whether time advances.

    Attributes:
        paused: Whether time is paused.
    """

    paused: bool

    @property
    def lockstep(self) -> bool:
        """Whether time advances only with commands and calls of the step services."""


class FreshCommands:
    """A commanded arm that rejects commands sent before a reset and times out old commands.

    Attributes:
        arm: The arm.
        handover: Why the safe command is active, or "".
        brakes_if_too_fast: Whether a speed beyond its limit applies the safe command until the
            arm rests.
    """

    def __init__(self, arm: CommandedArm, brakes_if_too_fast: bool = False):
        """Accept commands for `arm` that are sent from now on."""
        self.arm, self.handover = arm, ""
        self.brakes_if_too_fast = brakes_if_too_fast
        self._speeds = np.zeros(arm.simulation.robot.n)
        self._too_fast = False
        self._since_ns, self._sent_ns = time.time_ns(), 0
        self._end_ns: int | None = None
        self._was_paused = False
        self._time_control: TimeControl | None = None

    def use_time_control(self, time_control: TimeControl) -> None:
        """Set the object that controls time; without it, time is assumed to advance."""
        self._time_control = time_control

    @property
    def time_ns(self) -> int:
        """Simulated time, ns."""
        return self.arm.time_ns

    def reset(self) -> None:
        """Return to the initial state; reject commands sent before the end of the reset.

        If the object that controls time has been set, the reset lasts `RESET_SETTLING` s of wall
        time. While time is paused or in lockstep, this method blocks for that time: the initial
        state is published afterwards, so the command that responds to it is accepted.
        """
        self.arm.reset()
        self._since_ns = time.time_ns()
        if self._time_control is not None:
            self._since_ns += round(1e9 * RESET_SETTLING)
            if self._time_control.paused or self._time_control.lockstep:
                time.sleep(RESET_SETTLING)
        self._was_paused, self.handover = False, ""
        self._speeds[:] = 0.0
        self._too_fast = False

    def check(self, sent_ns: int) -> None:
        """Check that a command was not sent before the end of the last reset.

        Args:
            sent_ns: Wall-clock time at which the command was sent, ns.

        Raises:
            ManipDynError: If it was sent before the reset was done.
        """
        if sent_ns < self._since_ns:
            raise ManipDynError(
                "command must be sent after a reset, got one sent "
                f"{1e-9 * (self._since_ns - sent_ns):.3f} s before the reset was done."
            )

    def command(
        self,
        law: EffortLaw,
        sent_ns: int,
        end_ns: int | None = None,
        deadline_ns: int | None = None,
    ) -> None:
        """Apply an effort law. While the arm brakes because it was too fast, the law is ignored.

        Args:
            law: The effort law.
            sent_ns: Wall-clock time at which it was sent, ns.
            end_ns: Simulated time at which the safe command replaces it, ns. Default: only the
                timeout ends it.
            deadline_ns: Simulated time until which it must arrive, ns. Default: its end.

        Raises:
            ManipDynError: If it was sent before the reset was done, or is too late.
        """
        self.check(sent_ns)
        for limit, last in (("end", end_ns), ("deadline", deadline_ns)):
            if last is not None and last <= self.time_ns:
                raise ManipDynError(
                    f"command must arrive before its {limit}, got one "
                    f"{1e-9 * (self.time_ns - last):.3f} s late."
                )
        if self.stopping:
            return
        self.arm.command(law, end_ns)
        self._end_ns = end_ns
        self._sent_ns, self.handover, self._too_fast = sent_ns, "", False
        self.stand_still()

    def release(self, sent_ns: int) -> None:
        """End the current command, if there is one, so that the safe command acts.

        Args:
            sent_ns: Wall-clock time at which the release was sent, ns.

        Raises:
            ManipDynError: If it was sent before the reset was done.
        """
        self.check(sent_ns)
        if self.arm.commanded:
            self.arm.release()
            self.handover = RELEASED

    def stand_still(self) -> None:
        """Record whether time is paused. Must be called regularly."""
        self._was_paused = self._was_paused or self._paused

    def advance(self, duration_ns: int) -> None:
        """Advance the arm by `duration_ns`, ns. After a pause, time out an old command first."""
        if self._was_paused and not self._paused:
            self._was_paused = False
            self._end_pause()
        timed_out = self.arm.timed_out
        self.arm.advance(duration_ns)
        if self.arm.timed_out and not timed_out:
            ended = self._end_ns is not None and self._end_ns <= self.time_ns
            self.handover = ENDED if ended else f"no command for {self.arm.timeout:g} s"
        speeds = np.abs(self.arm.simulation.v)
        np.maximum(self._speeds, speeds, out=self._speeds)
        if self.brakes_if_too_fast and not self._too_fast:
            joints = too_fast(self.arm.simulation.robot, speeds)
            if joints:
                self.arm.time_out()
                self.handover, self._too_fast = f"too fast: {', '.join(joints)}", True

    @property
    def stopping(self) -> bool:
        """Whether the arm is still moving after it was braked for excessive speed."""
        return self._too_fast and bool(np.abs(self.arm.simulation.v).max() > SLOW)

    def highest_speeds(self) -> Vector:
        """Return the highest speeds (n,) since the last call or reset, rad/s or m/s."""
        speeds, self._speeds = self._speeds, np.abs(self.arm.simulation.v)
        return speeds

    @property
    def _paused(self) -> bool:
        return self._time_control is not None and self._time_control.paused

    def _end_pause(self) -> None:
        if self._time_control is not None and self._time_control.lockstep:
            return  # the command responds to the state of the pause, whatever its age
        age = 1e-9 * (time.time_ns() - self._sent_ns)
        arm = self.arm
        waited = arm.commanded and not arm.timed_out and not arm.holding
        if waited and age > arm.timeout > 0.0:
            arm.time_out()
            self.handover = f"the last command was {age:.1f} s old when the pause ended"


def sent_at(info: Mapping[str, Any]) -> int:
    """Return the wall-clock time (ns) at which a message was sent, or, if unknown, received."""
    return info.get("source_timestamp") or info.get("received_timestamp") or time.time_ns()


NEVER_OLD = 2**62
"""Send time of effort laws from this process, ns: they do not age during a pause."""
RESET = Outcome(Code.INVALID_GOAL, "the arm was reset")
REPLACED = Outcome(Code.INVALID_GOAL, "replaced by another command")


class FollowedTrajectory:
    """A trajectory that the simulated arm follows."""

    def __init__(self, law: Following, commands: FreshCommands, stepper: Stepper):
        """Store the effort law, the arm and its stepper."""
        self.law, self._commands, self._stepper = law, commands, stepper

    @property
    def outcome(self) -> Outcome | None:
        """Outcome of the trajectory, or None before its end."""
        if self._stepper.fault:
            self.law.end(Outcome(Code.INVALID_GOAL, self._stepper.fault))
        return self.law.outcome

    def stop(self, outcome: Outcome) -> None:
        """End with `outcome`; brake and hold the arm."""
        with self._stepper.lock:
            self.law.stop(outcome)

    def progress(self) -> Progress:
        """Return the measured and the desired state."""
        with self._stepper.lock:
            simulation = self._commands.arm.simulation
            t, *desired = self.law.desired(simulation.time_ns)
            stamp, q, v = self._stepper.stamp_ns, simulation.q, simulation.v
        return Progress(stamp, t, JointMotion(*desired), q, v)


class Trajectories:
    """Follows joint trajectories. Their effort laws are internal commands of the simulator."""

    def __init__(self, node: Node, commands: FreshCommands, stepper: Stepper, brake_rate: float):
        """Create the topic and, if control_msgs is installed, the action for joint trajectories.

        Args:
            node: The node.
            commands: The arm with its commands.
            stepper: Controls the time of the arm.
            brake_rate: Damping rate of the brake that ends a trajectory, 1/s.
        """
        self._commands, self._stepper, self._brake_rate = commands, stepper, brake_rate
        self._law: Following | None = None
        self._prepare()
        self._requests = FollowJointTrajectory(node, commands.arm.simulation.robot, self)

    def close(self) -> None:
        """Destroy the action server."""
        self._requests.close()

    def _prepare(self) -> None:
        """Compile the effort law, so that the first trajectory starts without delay."""
        simulation = self._commands.arm.simulation
        now = simulation.time_ns, simulation.q, simulation.v
        waypoints = [Waypoint(0, simulation.q)]
        law = Following(simulation.kernels, waypoints, Tolerances.of(simulation.robot), 0, now)
        law.effort(*now)

    def check(self, goal: TrajectoryGoal, info: Mapping[str, Any] | None = None) -> None:
        """Check that a trajectory can begin now and was not sent before a reset.

        Raises:
            RejectedTrajectoryError: If it cannot begin, exceeds a position or speed limit, or was
                sent before a reset.
        """
        with self._stepper.lock:
            try:
                self._commands.check(NEVER_OLD if info is None else sent_at(info))
            except ManipDynError as error:
                raise RejectedTrajectoryError(Code.INVALID_GOAL, str(error)) from error
            obstacle = self._stepper.fault or (self._commands.stopping and self._commands.handover)
            if obstacle:
                raise RejectedTrajectoryError(Code.INVALID_GOAL, obstacle)
            simulation, stamp = self._commands.arm.simulation, self._stepper.stamp_ns
            q, v = simulation.q, simulation.v
        goal.checked_motion(simulation.robot, stamp, q, v)  # without the lock: it may take long

    def begin(self, goal: TrajectoryGoal) -> FollowedTrajectory:
        """Start following a trajectory.

        Raises:
            RejectedTrajectoryError: If the trajectory has already ended, or begins too late.
        """
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

    def renew(self) -> None:
        """Renew the command of the trajectory, or end it if another law drives the arm.

        Must be called in every control period, with the stepper's lock held.
        """
        if self._law is None:
            return
        arm = self._commands.arm
        if arm.simulation.law is self._law:
            self._law.update(arm.time_ns, arm.simulation.q, arm.simulation.v)
            self._commands.command(self._law, NEVER_OLD)
        else:
            braked = Outcome(Code.INVALID_GOAL, f"aborted: {self._commands.handover}")
            replaced = braked if self._commands.handover else REPLACED
            self._law.end(replaced if arm.commanded else RESET)
            self._law = None
