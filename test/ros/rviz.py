"""A client of interactive markers that behaves as RViz does (interactive_markers 2.5.4)."""

from visualization_msgs.msg import InteractiveMarkerFeedback, InteractiveMarkerUpdate
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
