"""A model of ros2_control's JointStateTopicSystem 1.1.0."""

import numpy as np
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState

FIELDS = ("position", "velocity", "effort")


class TopicSystem:
    """A hardware component between topics and a controller, which is the test.

    Command interfaces are NaN until a controller writes to them. Commands of all interfaces and
    joints are sent together if their summed difference from the state exceeds the threshold or is
    NaN.
    """

    def __init__(self, ros, simulator):
        """Connect to the topics of a simulator."""
        self._latest = JointState()
        ros.probe.create_subscription(
            JointState, f"{simulator}/joint_states", self._on_state, qos_profile_sensor_data
        )
        self.publisher = ros.probe.create_publisher(
            JointState, f"{simulator}/joint_commands", QoSProfile(depth=1)
        )
        subscribers = self.publisher.get_subscription_count
        ros.until(lambda: subscribers() and self._latest.name, f"no {simulator}")

    def configure(self, joints, interfaces, threshold=1e-5):
        """Set the joints in the controller's order, and their command interfaces."""
        self.joints, self.interfaces, self._threshold = joints, interfaces, threshold
        self.state = {field: np.full(len(joints), np.nan) for field in FIELDS}
        self.command = {field: np.full(len(joints), np.nan) for field in interfaces}

    def _on_state(self, message):
        self._latest = message

    @property
    def time_ns(self):
        """The stamp of the latest state."""
        return self._latest.header.stamp.sec * 10**9 + self._latest.header.stamp.nanosec

    def read(self):
        """Copy the latest message to the state interfaces."""
        for i, name in enumerate(self._latest.name):
            for field, values in self.state.items():
                values[self.joints.index(name)] = getattr(self._latest, field)[i]

    def write(self):
        """Send the commands if they exceed the threshold; return whether they were sent."""
        names = self.interfaces
        difference = sum(np.abs(self.state[name] - self.command[name]).sum() for name in names)
        if difference <= self._threshold:
            return False
        self.publisher.publish(
            JointState(name=self.joints, **{name: self.command[name].tolist() for name in names})
        )
        return True
