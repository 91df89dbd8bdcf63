"""The viewer node: what runs in its namespace, on a page in the browser."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_msgs.msg import String

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import load_robot
from manip_dyn.ros.messages.robot_description import NAME
from manip_dyn.ros.messages.topics import LATCHED
from manip_dyn.ros.monitors.report import say
from manip_dyn.ros.parameters.declare import declare
from manip_dyn.ros.parameters.viewer import ViewerParameters
from manip_dyn.ros.runtime.priority import give_way
from manip_dyn.ros.runtime.run import run
from manip_dyn.ros.viewing.heard_plan import HeardPlan
from manip_dyn.ros.viewing.heard_robot import HeardLevels, HeardRobot
from manip_dyn.ros.viewing.markers import HeardMarkers
from manip_dyn.ros.viewing.spoken import Spoken
from manip_dyn.viewer.figures.robot import robot_figure
from manip_dyn.viewer.page.live import LivePage
from manip_dyn.viewer.page.server import address, show, start, stop
from manip_dyn.viewer.scene import Figure, Scope, Snapshot

LOOK = 0.1
"""Wall time between looks whether something is heard, s."""
NICE = 10
"""It gives way to those it shows, and to who records them."""


class ViewerNode:
    """Waits for a robot or a mechanism; hears it, and lets the page draw it.

    Attributes:
        url: Where the page is; empty before it is there.
        page: What runs on it; None before anything was heard.
    """

    name = "viewer"

    def __init__(self, node: Node):
        """Declare parameters and listen; the page is there with the first state."""
        self.node = node
        self.url = ""
        self._parameters = declare(node, ViewerParameters)
        self._levels = HeardLevels(node)
        self._markers = HeardMarkers(node)
        self._robot = HeardRobot(node)
        self._plan = HeardPlan(node, self._positions, partial(self._robot.draw, "plan"))
        self._figure: Figure | None = None
        self.page: LivePage | None = None
        self._spoken = Spoken(node)
        node.create_subscription(String, NAME, self._on_description, LATCHED)
        node.create_timer(LOOK, self._look, clock=Clock(clock_type=ClockType.STEADY_TIME))
        self._server: Any = None
        self._watched = False

    def close(self) -> None:
        """End the page."""
        if self.page is not None:
            self.page.close()
        if self._server is not None:
            stop(self._server)

    def _on_description(self, message: String) -> None:
        if self._figure is not None:
            return
        try:
            robot = load_robot(message.data)
        except ManipDynError as error:
            self.node.get_logger().error(f"{error}")
            return
        folders = [each for each in self._parameters.meshes.split(os.pathsep) if each]
        self._figure = robot_figure(robot, folders)
        self._robot.know(robot)
        self._plan.know(robot)
        self._spoken.know(robot, self._positions)

    def _look(self) -> None:
        """Show the page; tell once that somebody watches; draw once something is heard."""
        if self._server is None:
            self._open()
        if not self._watched and self._server.get_clients():
            self._watched = True
            say(watched=True)
        if self.page is not None:
            return
        if self._figure is not None:
            if self._robot.newest() is not None:
                self._show(self._figure, self._robot.scopes())
            return
        figure = self._markers.figure()
        if figure is not None:
            self._show(figure, [])

    def _open(self) -> None:
        given = self._parameters
        self._server = start(given.host, given.port, given.dark)
        self.url = address(self._server)
        self.node.get_logger().info(f"the view is at {self.url}")
        say(url=self.url)
        if given.open_browser:
            show(self.url)

    def _show(self, figure: Figure, scopes: list[Scope]) -> None:
        dark, controls = self._parameters.dark, self._spoken.controls()
        self.page = LivePage(self._server, figure, self._newest, controls, scopes, dark)

    def _positions(self) -> Vector | None:
        now = self._robot.newest()
        return None if now is None else now.coordinates

    def _newest(self) -> Snapshot | None:
        source = self._markers if self._figure is None else self._robot
        now = source.newest()
        return None if now is None else replace(now, levels=self._levels())


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    give_way(NICE)
    return run(ViewerNode, args)


if __name__ == "__main__":
    sys.exit(main())
