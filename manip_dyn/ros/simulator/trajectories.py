"""Joint trajectories that the simulated arm follows by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rclpy.node import Node

from manip_dyn.control import JointMotion
from manip_dyn.control.joint_trajectory import (
    Code,
    Outcome,
    RefusedTrajectoryError,
    Tolerances,
    Waypoint,
)
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.follow_joint_trajectory import FollowJointTrajectory, Progress
from manip_dyn.ros.messages.joint_trajectories import TrajectoryGoal
from manip_dyn.ros.simulator.fresh_commands import FreshCommands, sent_at
from manip_dyn.ros.stepper import Stepper
from manip_dyn.simulation.following import Following

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
            t, *wanted = self.law.wanted(simulation.time_ns)
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
        """Raise `RefusedTrajectoryError` if it may not begin now, or is from before a reset."""
        with self._stepper.lock:
            try:
                self._commands.check(NEVER_OLD if info is None else sent_at(info))
            except ManipDynError as error:
                raise RefusedTrajectoryError(Code.INVALID_GOAL, str(error)) from error
            goal.start_ns(self._stepper.stamp_ns)
            if self._stepper.fault:
                raise RefusedTrajectoryError(Code.INVALID_GOAL, self._stepper.fault)

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
            self._law.go_on(arm.time_ns, arm.simulation.q, arm.simulation.v)
            self._commands.command(self._law, NEVER_OLD)
        else:
            self._law.end(TAKEN_OVER if arm.commanded else RESET)
            self._law = None
