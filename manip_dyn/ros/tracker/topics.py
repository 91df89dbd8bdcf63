"""Topics and diagnostic states of the tracker."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import PoseStamped, TwistStamped
from nav_msgs.msg import Path
from rclpy.node import Node

from manip_dyn import clik
from manip_dyn.core.checks import Vector
from manip_dyn.ros.diagnostics import ERROR, OK, WARN, State
from manip_dyn.ros.messages.geometry import header, pose_stamped, to_nanoseconds, twist
from manip_dyn.ros.runtime.subscriptions import LATCHED

TRACKER_STATES = (
    State("fault", ERROR, "numbers became infinite or NaN: call ~/reset"),
    State("waiting", WARN, "no joint states yet on {topic}"),
    State("silent", WARN, "no joint states for {silence:.1f} s"),
    State("outside_limits", ERROR, "joint outside its limits: {outside}"),
    State("unheard", WARN, "no node subscribes to {topic}"),
    State("late", ERROR, "{late}: braking until ~/reset"),
    State("braking", WARN, "braking: {fastest}; the motion continues when the arm is slow"),
    State(
        "not_alone",
        WARN,
        "other nodes publish on {topic}: {others}; this node must be the only publisher",
    ),
    State("delayed", WARN, "{delayed}"),
    State("approaching", WARN, "moving to the path: {distance} away"),
    State("unknown_delay", WARN, "{unknown}"),
    State("off_path", WARN, "{news}"),
    State("overruns", WARN, "recent overruns: {overruns}"),
    State("paused", OK, "paused"),
    State("standing", OK, "time stands still: the same joint state for {seconds:.1f} s"),
    State("tracking", OK, "tracking"),
)
"""States in order of priority."""
BY_NAME = {state.name: state for state in TRACKER_STATES}
WITHOUT_ERRORS = ("fault", "waiting", "silent", "unheard", "late", "braking", "approaching")
"""States in which the diagnostics do not contain the tracking error."""


@dataclass(frozen=True)
class TrackerFacts:
    """Facts about the tracker from which its diagnostic state follows.

    Attributes:
        fault: Whether the reference has become infinite or NaN.
        waiting: Topic of joint states if none has been received yet, or "".
        silence: Time since the last joint state, s; 0 while they arrive.
        outside: Joints outside their limits, or "".
        unheard: Topic of commands if it has no subscribers, or "".
        late: Why the arm is braked until a reset, or "".
        braking: Fastest joint of an arm that is being braked, or "".
        others: Other nodes that publish on `topic`, or "".
        topic: Topic of commands, or of joint states in kinematic mode.
        delayed: Message about a delay of the control loop above half its margin, or "".
        approaching: Distance to the path while the tool moves towards it, or "".
        off_path: Message about a deviation from the path or target, or "".
        unknown: Message about feedback that is reduced because the loop delay is unknown, or "".
        overruns: Number of recent overruns.
        paused: Whether the node is paused.
        standing: Time for which the same joint state has been repeated, s; 0 for a short time.
    """

    fault: bool = False
    waiting: str = ""
    silence: float = 0.0
    outside: str = ""
    unheard: str = ""
    late: str = ""
    braking: str = ""
    others: str = ""
    topic: str = field(default="", compare=False)
    delayed: str = ""
    approaching: str = ""
    off_path: str = ""
    unknown: str = ""
    overruns: int = 0
    paused: bool = False
    standing: float = 0.0


def state_of(facts: TrackerFacts) -> tuple[State, str]:
    """Return the first applicable state of `TRACKER_STATES` and its message."""
    holds = {
        "fault": facts.fault,
        "waiting": facts.waiting,
        "silent": facts.silence,
        "outside_limits": facts.outside,
        "unheard": facts.unheard,
        "late": facts.late,
        "braking": facts.braking,
        "not_alone": facts.others,
        "delayed": facts.delayed,
        "approaching": facts.approaching,
        "off_path": facts.off_path,
        "unknown_delay": facts.unknown,
        "overruns": facts.overruns,
        "paused": facts.paused,
        "standing": facts.standing,
        "tracking": True,
    }
    state = next(state for state in TRACKER_STATES if holds[state.name])
    message = state.message(
        topic=facts.waiting or facts.unheard or facts.topic,
        silence=facts.silence,
        outside=facts.outside,
        late=facts.late,
        delayed=facts.delayed,
        fastest=facts.braking,
        others=facts.others,
        distance=facts.approaching,
        news=facts.off_path,
        unknown=facts.unknown,
        overruns=facts.overruns,
        seconds=facts.standing,
    )
    return state, message


POSES_PER_LAP = 300
TRAIL_PERIOD = 0.02
"""Smallest path time between poses of the trail if the duration of the path is infinite, s."""


class TrackerTopics:
    """The publishers of a tracker node. Poses, twists and errors are in its base frame."""

    def __init__(self, node: Node, frame: str, path_length: int):
        """Create the publishers. The trail has at most `path_length` poses."""
        self._frame = frame
        self._desired_path = node.create_publisher(Path, "~/desired_path", LATCHED)
        self._desired_pose = node.create_publisher(PoseStamped, "~/desired_pose", 100)
        self._actual_path = node.create_publisher(Path, "~/actual_path", 10)
        self._error = node.create_publisher(TwistStamped, "~/error", 100)
        self._trail: deque[PoseStamped] = deque(maxlen=path_length)
        self._spacing_ns = 0

    def begin(self, path: clik.Path, origin_ns: int, step: float) -> None:
        """Begin a new trail and publish one lap, unless the path has an infinite duration.

        Args:
            path: The path.
            origin_ns: Stamp of path time zero, ns.
            step: Time step of the tracker, s.
        """
        self._trail.clear()
        endless = np.isinf(path.duration)
        spacing = TRAIL_PERIOD if endless else path.duration / POSES_PER_LAP
        self._spacing_ns = round(max(spacing, step) * 1e9)
        if endless:
            return
        count = int(np.ceil(path.duration / step - 1e-6))
        times = np.unique([*range(0, count, max(1, count // POSES_PER_LAP)), count]) * step
        poses = [
            pose_stamped(self._frame, origin_ns + round(t * 1e9), path.pose(t))
            for t in map(float, times)
        ]
        self._desired_path.publish(Path(header=header(self._frame, origin_ns), poses=poses))

    def publish(self, stamp_ns: int, desired: clik.Pose, actual: clik.Pose, error: Vector) -> None:
        """Publish desired pose and error (6,) for subscribers; extend the trail if that is due."""
        if self._desired_pose.get_subscription_count():
            self._desired_pose.publish(pose_stamped(self._frame, stamp_ns, desired))
        if self._error.get_subscription_count():
            self._error.publish(
                TwistStamped(header=header(self._frame, stamp_ns), twist=twist(error))
            )
        newest = to_nanoseconds(self._trail[-1].header.stamp) if self._trail else None
        if newest is None or stamp_ns - newest >= self._spacing_ns:
            self._trail.append(pose_stamped(self._frame, stamp_ns, actual))

    def publish_trail(self) -> None:
        """Publish the trail if it has subscribers."""
        if self._trail and self._actual_path.get_subscription_count():
            poses = list(self._trail)
            self._actual_path.publish(Path(header=poses[-1].header, poses=poses))
