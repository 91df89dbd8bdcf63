"""Target poses: conversion from link frames to the base frame, and the interactive marker."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np
from geometry_msgs.msg import PoseStamped, Quaternion
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerPose,
    InteractiveMarkerUpdate,
    Marker,
    MenuEntry,
)
from visualization_msgs.srv import GetInteractiveMarkers

from manip_dyn import clik
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.robot.pinocchio_model import Oracle
from manip_dyn.ros.messages.geometry import pose_stamped, vector
from manip_dyn.ros.runtime.subscriptions import QUEUE


class RobotFrames:
    """Turns poses and twists in a link's frame into the base frame."""

    def __init__(self, robot: Robot, base: str):
        """Take the robot and the name of its root's frame on topics."""
        self._robot, self._base, self._kinematics = robot, base, Oracle(robot)

    def moves(self, frame: str) -> bool:
        """Whether a frame may move against the base frame."""
        return frame.lstrip("/") not in ("", self._base, self._robot.base)

    def problem(self, frame: str) -> str:
        """Return why there is no such frame, or nothing."""
        if not self.moves(frame):
            return ""
        try:
            self._robot.frame(frame.lstrip("/"))
        except ManipDynError as error:
            return f"has frame_id '{frame}'; expected '{self._base}' or a link: {error}"
        return ""

    def of(self, frame: str, q: Vector) -> clik.Pose:
        """Return the pose of a frame in the base frame at joint positions (n,)."""
        link = frame.lstrip("/") if self.moves(frame) else self._robot.base
        matrix = self._kinematics.frame_pose(link, np.asarray(q, dtype=float))
        return clik.Pose(matrix[:3, 3], matrix[:3, :3])

    def pose(self, frame: str, q: Vector, pose: clik.Pose) -> clik.Pose:
        """Return a pose in a frame as one in the base frame."""
        if not self.moves(frame):
            return pose
        place, turn = self.of(frame, q)
        return clik.Pose(place + turn @ pose.position, turn @ pose.rotation)

    def twist(self, frame: str, q: Vector, twist: Vector) -> Vector:
        """Return a twist (6,) of the tool along a frame's axes as one along those of the base.

        As MoveIt Servo's `apply_twist_commands_about_ee_frame`: only the axes are those of the
        frame; the tool's own origin is what moves, and what the tool turns about.
        """
        if not self.moves(frame):
            return twist
        turn = self.of(frame, q).rotation
        return (turn @ twist.reshape(2, 3).T).T.ravel()


EXCLUSIVE_TIME = 1.0
"""How long after its last feedback a client has the marker for itself, s."""
HALF = float(np.sqrt(0.5))
AXES = {"x": (HALF, 0.0, 0.0), "y": (0.0, 0.0, HALF), "z": (0.0, HALF, 0.0)}
"""x, y, z of the quaternion, beside w = HALF, that turns a control's x axis along another."""


class InteractivePoseMarker:
    """One marker with six degrees of freedom, and a menu.

    Attributes:
        pose: Where it is, in its frame.
    """

    def __init__(
        self,
        node: Node,
        name: str,
        frame: str,
        description: str,
        dragged: Callable[[PoseStamped], None],
        menu: Mapping[str, Callable[[PoseStamped], None]] | None = None,
    ):
        """Serve the marker `name` in the namespace ~/`name`; it shows once it was placed.

        Args:
            node: The node.
            name: Of marker and namespace.
            frame: The frame of its poses.
            description: What is written beside it.
            dragged: Called with every pose that it is dragged to.
            menu: What is called, with its pose, by the entries of its menu.
        """
        self._node, self._name, self._frame = node, name, frame
        self._description, self._dragged, self._menu = description, dragged, dict(menu or {})
        self.pose: clik.Pose | None = None
        self._marker: InteractiveMarker | None = None
        self._number, self._client, self._touched = 0, "", -np.inf
        self._updates = node.create_publisher(InteractiveMarkerUpdate, f"~/{name}/update", QUEUE)
        node.create_subscription(
            InteractiveMarkerFeedback, f"~/{name}/feedback", self._on_feedback, QUEUE
        )
        node.create_service(
            GetInteractiveMarkers, f"~/{name}/get_interactive_markers", self._on_request
        )

    @property
    def held(self) -> bool:
        """Whether somebody drags it."""
        return time.monotonic() - self._touched < EXCLUSIVE_TIME

    def place(self, pose: clik.Pose) -> None:
        """Put the marker somewhere, unless it is dragged or there already."""
        if self.held or (self.pose is not None and _same_pose(pose, self.pose)):
            return
        self.pose = clik.Pose(pose.position.copy(), pose.rotation.copy())
        message = pose_stamped(self._frame, 0, pose)
        if self._marker is None:
            self._marker = _marker(self._name, self._description, list(self._menu), message)
            self._update(InteractiveMarkerUpdate(markers=[self._marker]))
        else:
            self._moved(message)

    def _moved(self, message: PoseStamped) -> None:
        assert self._marker is not None
        self._marker.pose = message.pose
        here = InteractiveMarkerPose(
            header=self._marker.header, pose=message.pose, name=self._name
        )
        self._update(InteractiveMarkerUpdate(poses=[here]))

    def _update(self, update: InteractiveMarkerUpdate) -> None:
        self._number += 1
        update.seq_num, update.server_id = self._number, self._node.get_fully_qualified_name()
        update.type = InteractiveMarkerUpdate.UPDATE
        self._updates.publish(update)

    def _on_request(
        self, _request, response: GetInteractiveMarkers.Response
    ) -> GetInteractiveMarkers.Response:
        response.sequence_number = self._number
        response.markers = [] if self._marker is None else [self._marker]
        return response

    def _on_feedback(self, message: InteractiveMarkerFeedback) -> None:
        stranger = message.client_id != self._client and self.held
        if self._marker is None or message.marker_name != self._name or stranger:
            return
        self._client, self._touched = message.client_id, time.monotonic()
        given = PoseStamped(header=message.header, pose=message.pose)
        if message.event_type == InteractiveMarkerFeedback.POSE_UPDATE:
            self.pose = None  # whoever takes it says where it is
            self._moved(given)
            self._dragged(given)
        elif message.event_type == InteractiveMarkerFeedback.MENU_SELECT:
            entries = list(self._menu.values())
            if 0 < message.menu_entry_id <= len(entries):
                self._touched = -np.inf
                entries[message.menu_entry_id - 1](given)


def _marker(name: str, description: str, menu: list[str], place: PoseStamped) -> InteractiveMarker:
    """Return a ball with three arrows and three rings."""
    ball = Marker(type=Marker.SPHERE, scale=vector((0.05, 0.05, 0.05)))
    ball.color = ColorRGBA(r=0.95, g=0.6, b=0.1, a=0.8)
    modes = InteractiveMarkerControl
    grip = modes.MENU if menu else modes.MOVE_ROTATE_3D
    controls = [InteractiveMarkerControl(name="ball", always_visible=True, markers=[ball])]
    controls[0].interaction_mode = grip
    for axis, (x, y, z) in AXES.items():
        turn = Quaternion(x=x, y=y, z=z, w=HALF)
        for what, mode in (("move", modes.MOVE_AXIS), ("turn", modes.ROTATE_AXIS)):
            control = InteractiveMarkerControl(name=f"{what}_{axis}", orientation=turn)
            control.interaction_mode = mode
            controls.append(control)
    entries = [
        MenuEntry(id=i, parent_id=0, title=title, command_type=MenuEntry.FEEDBACK)
        for i, title in enumerate(menu, start=1)
    ]
    return InteractiveMarker(
        header=place.header,
        pose=place.pose,
        name=name,
        description=description,
        scale=0.25,
        menu_entries=entries,
        controls=controls,
    )


def _same_pose(one: clik.Pose, other: clik.Pose) -> bool:
    return np.allclose(one.position, other.position, atol=1e-6) and np.allclose(
        one.rotation, other.rotation, atol=1e-6
    )
