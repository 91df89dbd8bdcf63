"""A pose that is dragged in RViz: the server's side of the protocol of interactive_markers.

After interactive_markers 2.5.4 (ros-visualization, branch rolling, 165a0e6): with the namespace
NAME the service NAME/get_interactive_markers gives all markers and the number of the newest
update; updates on NAME/update (reliable, depth 100) count on by one, or a client asks anew;
feedback comes on NAME/feedback. Keep-alive messages are no longer part of it. Of two clients the
one that touched a marker within the last second has it. A marker with a zero stamp is locked to
its frame, so feedback comes back in that frame.
"""

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
from manip_dyn.ros.messages.geometry import pose_stamped, vector
from manip_dyn.ros.messages.topics import QUEUE

HELD = 1.0
"""How long after its last feedback a client has the marker for itself, s."""
HALF = float(np.sqrt(0.5))
AXES = {"x": (HALF, 0.0, 0.0), "y": (0.0, 0.0, HALF), "z": (0.0, HALF, 0.0)}
"""x, y, z of the quaternion, beside w = HALF, that turns a control's x axis along another."""


class InteractivePose:
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
        return time.monotonic() - self._touched < HELD

    def place(self, pose: clik.Pose) -> None:
        """Put the marker somewhere, unless it is dragged or there already."""
        if self.held or (self.pose is not None and _same(pose, self.pose)):
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


def _same(one: clik.Pose, other: clik.Pose) -> bool:
    return np.allclose(one.position, other.position, atol=1e-6) and np.allclose(
        one.rotation, other.rotation, atol=1e-6
    )
