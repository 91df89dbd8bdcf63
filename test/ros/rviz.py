"""RViz in tests: a client of interactive markers, and the errors that its marker display reports.

The client behaves as interactive_markers 2.5.4, the checks are those of rviz_default_plugins 14.1.
"""

import numpy as np
from visualization_msgs.msg import InteractiveMarkerFeedback, InteractiveMarkerUpdate, Marker
from visualization_msgs.srv import GetInteractiveMarkers


class FakeRviz:
    """Requests the markers, applies updates in order, drags markers and selects menu entries."""

    def __init__(self, ros, namespace, client="rviz"):
        self.ros, self.namespace, self.client = ros, namespace, client
        self.pending = ros.listen(InteractiveMarkerUpdate, f"{namespace}/update", 100)
        self.feedback = ros.publisher(InteractiveMarkerFeedback, f"{namespace}/feedback")
        self.markers, self.number = {}, None
        ros.until(lambda: self.look(), "no marker")

    def look(self):
        """Apply pending updates and return the markers by name."""
        if self.number is None:
            answer = self.ros.call(
                GetInteractiveMarkers, f"{self.namespace}/get_interactive_markers"
            )
            self.markers = {marker.name: marker for marker in answer.markers}
            self.number = answer.sequence_number
            self.pending[:] = [update for update in self.pending if update.seq_num > self.number]
        while self.pending:
            update = self.pending.pop(0)
            assert update.type == InteractiveMarkerUpdate.UPDATE
            assert update.seq_num == self.number + 1, "updates out of order"
            self.number = update.seq_num
            self.markers |= {marker.name: marker for marker in update.markers}
            for moved in update.poses:
                self.markers[moved.name].pose = moved.pose
        return self.markers

    def send(self, name, kind, pose=None, entry=0):
        marker = self.markers[name]
        message = InteractiveMarkerFeedback(
            client_id=self.client, marker_name=name, event_type=kind, menu_entry_id=entry
        )
        message.header.frame_id = marker.header.frame_id
        message.pose = pose or marker.pose
        self.feedback.publish(message)

    def drag(self, name, pose):
        self.send(name, InteractiveMarkerFeedback.POSE_UPDATE, pose)

    def select(self, name, title, pose=None):
        entry = next(e.id for e in self.markers[name].menu_entries if e.title == title)
        self.send(name, InteractiveMarkerFeedback.MENU_SELECT, pose, entry)


def marker_errors(message):
    """Return the errors and warnings of RViz about a `MarkerArray`, one sentence each."""
    errors, keys = [], set()
    for marker in message.markers:
        if marker.action == Marker.DELETEALL:
            continue
        name = f"{marker.ns}/{marker.id}"
        quaternion, scale = marker.pose.orientation, marker.scale
        norm = np.linalg.norm([quaternion.x, quaternion.y, quaternion.z, quaternion.w])
        used = {Marker.LINE_LIST: "x", Marker.TEXT_VIEW_FACING: "z"}.get(marker.type, "xyz")
        corners = {Marker.LINE_LIST: 2, Marker.TRIANGLE_LIST: 3}.get(marker.type, 0)
        checks = {
            "has the same namespace and id as another": name not in keys,
            "has no frame": marker.header.frame_id,
            "has an invalid orientation": abs(norm - 1.0) < 1e-3,
            "has no scale": all(getattr(scale, axis) > 0.0 for axis in used),
            "has a scale without meaning": not any(getattr(scale, a) for a in {*"xyz"} - {*used}),
            "is transparent": marker.color.a > 0.0,
            "has a wrong number of points": (
                marker.points and len(marker.points) % corners == 0
                if corners
                else not marker.points
            ),
            "has a wrong text": bool(marker.text) == (marker.type == Marker.TEXT_VIEW_FACING),
            "has a mesh": not marker.mesh_resource,
        }
        keys.add(name)
        errors += [f"{name} {error}" for error, passes in checks.items() if not passes]
    return errors
