"""Subscription to the joint states of an arm, in one or several messages per state."""

from __future__ import annotations

from collections.abc import Callable

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState

from manip_dyn.control.continuity import MeasuredState
from manip_dyn.control.state_estimation import StateEstimator
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot import Robot
from manip_dyn.ros.messages.geometry import to_nanoseconds
from manip_dyn.ros.messages.joints import in_joint_order
from manip_dyn.ros.runtime.subscriptions import PolledSubscription

FASTEST = 1000.0
"""Largest plausible speed relative to the speed limit. The efforts for 1e200 rad/s overflow."""
INCOMPLETE = 100
"""Number of messages without a complete state after which missing joints are reported."""
ROUNDING = 1e-9
"""Noise that is not reported, because it is due to rounding: rad or m, and rad/s or m/s."""
MAX_DELAY = 0.5
"""Product of velocity gain and velocity delay above which the feedback may oscillate."""


class JointStateSubscription(PolledSubscription):
    """Subscription to joint_states whose messages may contain some of the joints or no velocities.

    The messages in the queue are processed together, and only the newest state is passed on: an
    older one would delay the control loop.

    Attributes:
        effort: Efforts (n,) of the newest message, in joint order; None if it does not contain the
            efforts of all joints.
    """

    def __init__(
        self,
        node: Node,
        estimator: StateEstimator,
        robot: Robot,
        receive: Callable[[MeasuredState], None],
        drop: Callable[[object], None],
        *,
        executed: Callable[[], bool] = lambda: False,
    ):
        """Subscribe.

        Args:
            node: The node.
            estimator: Builds states from the messages.
            robot: The arm.
            receive: Called with the newest complete state.
            drop: Called with the error of an invalid message, and with the names of joints that
                no message contains.
            executed: Returns whether the executor may process messages.
        """
        self._estimator, self._robot = estimator, robot
        self._receive, self._drop = receive, drop
        self._log, self._informed = node.get_logger(), False
        self._newest: MeasuredState | None = None
        self._taking = False
        self.effort: list[float] | None = None
        # One message per joint, twice: the queue may contain parts of two states.
        queue = QoSProfile(depth=2 * robot.n, reliability=ReliabilityPolicy.RELIABLE)
        super().__init__(node, JointState, "joint_states", self._add, queue, executed=executed)

    def take(self) -> None:
        """Process the messages in the queue, then pass on the newest state."""
        self._taking = True
        try:
            super().take()
        finally:
            self._taking = False
        newest, self._newest = self._newest, None
        if newest is not None:
            self._receive(newest)

    def velocity_hint(self, damping: float, name: str) -> None:
        """Log once that velocities are estimated, with a warning if the delay is too long.

        Args:
            damping: Velocity feedback gain, 1/s.
            name: Name of the parameter of this gain.
        """
        delay = self._estimator.velocity_delay
        if self._informed or not delay:
            return
        self._informed, delay = True, max(delay, 0.5 * self._estimator.velocity_window)
        sentence = (
            f"{self.topic_name} lacks velocities: they are estimated from positions, "
            f"{delay:.3g} s late"
        )
        if damping * delay <= MAX_DELAY:
            self._log.info(sentence)
        else:
            self._log.warning(
                f"{sentence}. The arm may oscillate, because this delay times '{name}' is "
                f"{damping * delay:.2g}: reduce 'velocity_window' or '{name}' until it is below "
                f"{MAX_DELAY}"
            )

    def _add(self, message: JointState, _info: object) -> None:
        try:
            state = self._estimator.add(*self._measurement(message))
        except ManipDynError as error:
            self._drop(error)
            return
        self._newest = state or self._newest
        self.effort = self._efforts(message)
        if self._estimator.incomplete > INCOMPLETE:
            self._report_missing()
        if not self._taking:  # called by the executor
            self.take()

    def _measurement(
        self, message: JointState
    ) -> tuple[int, tuple[int, ...], Vector, Vector | None]:
        """Return stamp (ns), indices, positions (k,) and velocities (k,) of k joints.

        Raises:
            ManipDynError: If the message contains no joint of the arm, or invalid values.
        """
        names = self._robot.joint_names
        joints = tuple(i for i, name in enumerate(names) if name in message.name)
        chosen = [names[i] for i in joints]  # all joints if the message contains none of them
        q = in_joint_order(message, self._robot, "position", chosen)
        v = in_joint_order(message, self._robot, "velocity", chosen) if message.velocity else None
        for i, speed in zip(joints, [] if v is None else v.tolist(), strict=False):
            if abs(speed) > FASTEST * self._robot.v_max[i]:
                raise ManipDynError(
                    f"velocity of joint '{names[i]}' in a joint state must be at most {FASTEST:g} "
                    f"times its speed limit, got {speed:.6g} {self._robot.unit(i)}/s."
                )
        return to_nanoseconds(message.header.stamp), joints, q, v

    def _efforts(self, message: JointState) -> list[float] | None:
        if len(message.effort) != len(message.name):
            return None
        values = dict(zip(message.name, message.effort, strict=True))
        names = self._robot.joint_names
        return [values[name] for name in names] if all(name in values for name in names) else None

    def _report_missing(self) -> None:
        joints = ", ".join(f"'{name}'" for name in self._estimator.missing)
        self._drop(
            f"joint states must contain all joints of '{self._robot.name}', got no value of "
            f"{joints} in {self._estimator.incomplete} messages. If no node publishes a joint, "
            "hold it fixed with the parameter 'lock'."
        )


def estimate_values(estimator: StateEstimator) -> dict[str, object]:
    """Return the delay of estimated velocities and the largest noise as values for a report."""
    position, velocity = (float(values.max()) for values in estimator.noise())
    return {
        "velocity delay [s]": estimator.velocity_delay or None,
        "position noise [rad or m]": position if position > ROUNDING else None,
        "velocity noise [rad/s or m/s]": velocity if velocity > ROUNDING else None,
    }
