"""What ros2_control's JointStateTopicSystem does, by the source of its version 1.1.0."""

import numpy as np
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import JointState

FIELDS = ("position", "velocity", "effort")


class TopicSystem:
    """A hardware component between a controller, which is the test, and topics.

    Command interfaces are NaN until a controller writes to them. A command is sent unless it
    differs from the state by no more than the threshold, summed over all command interfaces, which
    NaN does not; then all of them are, for all joints, and nothing else.
    """

    def __init__(self, ros, simulator):
        """Take the graph and the name of the simulator."""
        self._latest = JointState()
        ros.probe.create_subscription(
            JointState, f"{simulator}/joint_states", self._hear, qos_profile_sensor_data
        )
        self.publisher = ros.probe.create_publisher(
            JointState, f"{simulator}/joint_commands", QoSProfile(depth=1)
        )
        heard = self.publisher.get_subscription_count
        ros.until(lambda: heard() and self._latest.name, f"no {simulator}")

    def configure(self, joints, interfaces, threshold=1e-5):
        """Declare joints, in an order of their own, and the kinds of command that they take."""
        self.joints, self.interfaces, self._threshold = joints, interfaces, threshold
        self.state = {each: np.full(len(joints), np.nan) for each in FIELDS}
        self.command = {each: np.full(len(joints), np.nan) for each in interfaces}

    def _hear(self, message):
        self._latest = message

    @property
    def time_ns(self):
        """The stamp of the latest state."""
        return self._latest.header.stamp.sec * 10**9 + self._latest.header.stamp.nanosec

    def read(self):
        """Take what came last for the states."""
        for i, name in enumerate(self._latest.name):
            for each, values in self.state.items():
                values[self.joints.index(name)] = getattr(self._latest, each)[i]

    def write(self):
        """Send the commands if they are to be sent; return whether they were."""
        names = self.interfaces
        difference = sum(np.abs(self.state[each] - self.command[each]).sum() for each in names)
        if difference <= self._threshold:
            return False
        self.publisher.publish(
            JointState(name=self.joints, **{each: self.command[each].tolist() for each in names})
        )
        return True
