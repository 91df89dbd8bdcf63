"""The planner's plan: where its efforts would lead the tool, from where the arm is."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.efforts import schedule_from
from manip_dyn.ros.messages.stamps import to_nanoseconds
from manip_dyn.ros.messages.topics import LATCHED
from manip_dyn.simulation import simulate
from manip_dyn.viewer.figures.robot import robot_figure
from manip_dyn.viewer.motions.robot import trail

LONGEST = 60.0
"""Plans that take longer are not drawn, s."""


class HeardPlan:
    """Draws each plan that is heard; simulates it in a thread, which may have to compile."""

    def __init__(
        self, node: Node, positions: Callable[[], Vector | None], draw: Callable[[Matrix], None]
    ):
        """Subscribe.

        Args:
            node: The node.
            positions: Returns where the joints are (n,), if that is known.
            draw: Takes where the tool would go (m, 3), m.
        """
        self._positions, self._draw = positions, draw
        self._robot: Robot | None = None
        node.create_subscription(JointTrajectory, "bang_bang_planner/plan", self._on_plan, LATCHED)

    def know(self, robot: Robot) -> None:
        """Take the robot that plans are for."""
        self._robot = robot

    def _on_plan(self, message: JointTrajectory) -> None:
        robot, q = self._robot, self._positions()
        if robot is not None and q is not None:
            threading.Thread(target=self._follow, args=(robot, q, message), daemon=True).start()

    def _follow(self, robot: Robot, q: Vector, message: JointTrajectory) -> None:
        try:
            points = planned_trail(robot, q, message)
        except ManipDynError:
            return  # of another arm
        self._draw(points)


def planned_trail(robot: Robot, q: Vector, message: JointTrajectory) -> Matrix:
    """Return where a plan's efforts would lead the tool (m, 3), m, from rest at positions (n,)."""
    stamp = to_nanoseconds(message.header.stamp)
    schedule = schedule_from(message, robot, stamp, 0)
    duration = 1e-9 * schedule.times_ns[-1]
    if not 0.0 < duration <= LONGEST:
        return np.zeros((0, 3))
    moved = simulate(robot, q, np.zeros(robot.n), schedule, duration)
    return trail(robot_figure(robot), moved.q)
