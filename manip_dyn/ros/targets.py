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
    """Transforms poses and twists from the frame of a link to the base frame."""

    def __init__(self, robot: Robot, base: str):
        """Create the transforms of a robot. In messages, `base` is the name of its base frame."""
        self._robot, self._base, self._kinematics = robot, base, Oracle(robot)

    def moves(self, frame: str) -> bool:
        """Return whether a frame may move relative to the base frame."""
        return frame.lstrip("/") not in ("", self._base, self._robot.base)

    def problem(self, frame: str) -> str:
        """Return an error message if the frame is unknown, or ""."""
        if not self.moves(frame):
            return ""
        try:
            self._robot.frame(frame.lstrip("/"))
        except ManipDynError as error:
            frames = f"'{self._base}' or the frame of a link"
            return f"must be in {frames}, got frame_id '{frame}': {error}"
        return ""

    def of(self, frame: str, q: Vector) -> clik.Pose:
        """Return the pose of a frame in the base frame at the joint positions `q` (n,)."""
        link = frame.lstrip("/") if self.moves(frame) else self._robot.base
        matrix = self._kinematics.frame_pose(link, np.asarray(q, dtype=float))
        return clik.Pose(matrix[:3, 3], matrix[:3, :3])

    def pose(self, frame: str, q: Vector, pose: clik.Pose) -> clik.Pose:
        """Transform a pose from a frame to the base frame at the joint positions `q` (n,)."""
        if not self.moves(frame):
            return pose
        origin, rotation = self.of(frame, q)
        return clik.Pose(origin + rotation @ pose.position, rotation @ pose.rotation)

    def twist(self, frame: str, q: Vector, twist: Vector) -> Vector:
        """Rotate a twist (6,) of the tool from the axes of a frame to those of the base frame.

        The reference point remains the origin of the tool, as with the parameter
        `apply_twist_commands_about_ee_frame` of MoveIt Servo.
        """
        if not self.moves(frame):
            return twist
        rotation = self.of(frame, q).rotation
        return (rotation @ twist.reshape(2, 3).T).T.ravel()


EXCLUSIVE_TIME = 1.0
"""Wall time for which a client has exclusive control of the marker after its last feedback, s."""
HALF = float(np.sqrt(0.5))
AXES = {"x": (HALF, 0.0, 0.0), "y": (0.0, 0.0, HALF), "z": (0.0, HALF, 0.0)}
"""Quaternions (x, y, z; w = HALF) that align the x axis of a control with the named axis."""


class InteractivePoseMarker:
    """An interactive marker with six degrees of freedom and an optional menu.

    Attributes:
        pose: Pose set by `place` in the frame of the marker, or None before the first call and
            after a drag.
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
        """Create the topics and the service of the marker. The first call of `place` shows it.

        Args:
            node: The node.
            name: Name of the marker and of its namespace under ~/.
            frame: Frame of its poses.
            description: Label of the marker.
            dragged: Called with every pose to which the marker is dragged.
            menu: Titles of the menu entries and their callbacks. A callback receives the pose.
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
        """Whether a client has exclusive control of the marker (see `EXCLUSIVE_TIME`)."""
        return time.monotonic() - self._touched < EXCLUSIVE_TIME

    def place(self, pose: clik.Pose) -> None:
        """Show the marker at a pose, unless a client has exclusive control."""
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
        pose = InteractiveMarkerPose(
            header=self._marker.header, pose=message.pose, name=self._name
        )
        self._update(InteractiveMarkerUpdate(poses=[pose]))

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
        excluded = message.client_id != self._client and self.held
        if self._marker is None or message.marker_name != self._name or excluded:
            return
        self._client, self._touched = message.client_id, time.monotonic()
        pose = PoseStamped(header=message.header, pose=message.pose)
        if message.event_type == InteractiveMarkerFeedback.POSE_UPDATE:
            self.pose = None  # the next `place` moves the marker back after a rejected target
            self._moved(pose)
            self._dragged(pose)
        elif message.event_type == InteractiveMarkerFeedback.MENU_SELECT:
            entries = list(self._menu.values())
            if 0 < message.menu_entry_id <= len(entries):
                self._touched = -np.inf
                entries[message.menu_entry_id - 1](pose)


def _marker(name: str, description: str, menu: list[str], pose: PoseStamped) -> InteractiveMarker:
    """Return an interactive marker: a ball with three arrows and three rings."""
    ball = Marker(type=Marker.SPHERE, scale=vector((0.05, 0.05, 0.05)))
    ball.color = ColorRGBA(r=0.95, g=0.6, b=0.1, a=0.8)
    modes = InteractiveMarkerControl
    grip = modes.MENU if menu else modes.MOVE_ROTATE_3D
    controls = [InteractiveMarkerControl(name="ball", always_visible=True, markers=[ball])]
    controls[0].interaction_mode = grip
    for axis, (x, y, z) in AXES.items():
        orientation = Quaternion(x=x, y=y, z=z, w=HALF)
        for verb, mode in (("move", modes.MOVE_AXIS), ("turn", modes.ROTATE_AXIS)):
            control = InteractiveMarkerControl(name=f"{verb}_{axis}", orientation=orientation)
            control.interaction_mode = mode
            controls.append(control)
    entries = [
        MenuEntry(id=i, parent_id=0, title=title, command_type=MenuEntry.FEEDBACK)
        for i, title in enumerate(menu, start=1)
    ]
    return InteractiveMarker(
        header=pose.header,
        pose=pose.pose,
        name=name,
        description=description,
        scale=0.25,
        menu_entries=entries,
        controls=controls,
    )


def _same_pose(a: clik.Pose, b: clik.Pose) -> bool:
    return np.allclose(a.position, b.position, atol=1e-6) and np.allclose(
        a.rotation, b.rotation, atol=1e-6
    )
