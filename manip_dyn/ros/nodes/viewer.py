"""The viewer node: shows the robot or mechanism in its namespace in the browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rclpy.node import Node
from std_msgs.msg import String

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot, load_kinematics
from manip_dyn.ros.monitors.progress import print_json
from manip_dyn.ros.parameters.declaration import declare, default_of, parameter
from manip_dyn.ros.robot_topics import ROBOT_DESCRIPTION
from manip_dyn.ros.runtime.environment import lower_priority
from manip_dyn.ros.runtime.execution import create_wall_timer, run
from manip_dyn.ros.runtime.subscriptions import LATCHED
from manip_dyn.ros.viewer_controls import ViewerControls
from manip_dyn.ros.viewer_subscriptions import (
    DiagnosticsSubscription,
    MarkerSubscription,
    PlanSubscription,
    RobotSubscriptions,
    SceneSubscription,
)
from manip_dyn.viewer.figures import robot_figure
from manip_dyn.viewer.live import LivePage
from manip_dyn.viewer.scene import Figure, Scope, Snapshot
from manip_dyn.viewer.server import address, show, start, stop


@dataclass(frozen=True)
class ViewerParameters:
    """Parameters of the viewer."""

    host: str = parameter(
        default_of(start, "host"),
        "Address of the page; 127.0.0.1: this machine only, 0.0.0.0: all network interfaces",
    )
    port: int = parameter(
        default_of(start, "port"),
        "Port of the page; if it is in use, the next free port; 0: any free port",
        "",
        0,
        65535,
    )
    dark: bool = parameter(default_of(start, "dark"), "Whether the page starts in dark mode")
    open_browser: bool = parameter(False, "Whether to open a browser if there is a screen")
    meshes: str = parameter(
        "", "Folders of the packages that contain the meshes of a URDF, separated by colons"
    )


POLL_PERIOD = 0.1
"""Wall time between checks for a robot or mechanism, s."""
NICE = 10
"""Nice value of the viewer: the displayed nodes and the recorder have priority."""


class ViewerNode:
    """Waits for a robot or a mechanism and shows its motion.

    Attributes:
        url: Address of the page, or "" before the server runs.
        page: The live page, or None before the first state.
    """

    name = "viewer"
    report: Callable[..., None] = staticmethod(print_json)

    def __init__(self, node: Node):
        """Declare parameters and subscribe. The page is created with the first state."""
        self.node = node
        self.url = ""
        self._parameters = declare(node, ViewerParameters)
        self._levels = DiagnosticsSubscription(node)
        self._markers = MarkerSubscription(node)
        self._robot = RobotSubscriptions(node)
        self._scene = SceneSubscription(node)
        self._plan = PlanSubscription(node, self._positions, partial(self._robot.draw, "plan"))
        self._figure: Figure | None = None
        self._arm: Robot | None = None
        self.page: LivePage | None = None
        self._controls = ViewerControls(node)
        node.create_subscription(String, ROBOT_DESCRIPTION, self._on_description, LATCHED)
        create_wall_timer(node, POLL_PERIOD, self._poll)
        self._server: Any = None
        self._watched = False

    def close(self) -> None:
        """Close the page and stop the server."""
        if self.page is not None:
            self.page.close()
        if self._server is not None:
            stop(self._server)

    def _on_description(self, message: String) -> None:
        if self._figure is not None:
            return
        try:
            robot = load_kinematics(message.data)
        except ManipDynError as error:
            self.node.get_logger().error(f"{error}")
            return
        folders = [folder for folder in self._parameters.meshes.split(os.pathsep) if folder]
        self._figure = robot_figure(robot, folders)
        self._robot.use(robot)
        self._scene.use(robot)
        self._arm = robot
        self._plan.use(robot)
        self._controls.use(robot, self._positions)

    def _poll(self) -> None:
        """Start the server, report the first client, and create the page after the first state."""
        if self._server is None:
            self._open()
        if not self._watched and self._server.get_clients():
            self._watched = True
            self.report(watched=True)
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
        parameters = self._parameters
        self._server = start(parameters.host, parameters.port, parameters.dark)
        self.url = address(self._server)
        self.node.get_logger().info(f"the view is at {self.url}")
        self.report(url=self.url)
        if parameters.open_browser:
            show(self.url)

    def _show(self, figure: Figure, scopes: list[Scope]) -> None:
        dark, controls = self._parameters.dark, self._controls.controls()
        newest, robot = self.snapshot, self._arm
        self.page = LivePage(self._server, figure, newest, controls, scopes, dark, robot)

    def _positions(self) -> Vector | None:
        now = self._robot.newest()
        return None if now is None else now.coordinates

    def snapshot(self) -> Snapshot | None:
        """Return the displayed state, or None before the first state."""
        source = self._markers if self._figure is None else self._robot
        now = source.newest()
        if now is None:
            return None
        obstacles, closest = self._scene.newest()
        return replace(now, levels=self._levels(), obstacles=obstacles, closest=closest)


def main(args: list[str] | None = None, report: Callable[..., None] = print_json) -> int:
    """Run the node.

    Args:
        args: The command line.
        report: Called with `url` when the page exists, and with `watched` when it is first opened.
    """
    lower_priority(NICE)
    return run(type("Viewer", (ViewerNode,), {"report": staticmethod(report)}), args)


if __name__ == "__main__":
    sys.exit(main())
