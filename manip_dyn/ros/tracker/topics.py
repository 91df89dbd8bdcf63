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

STATES = (
    State("fault", ERROR, "numbers became infinite or NaN: call ~/reset"),
    State("waiting", WARN, "no joint states yet on {topic}"),
    State("silent", WARN, "no joint states for {silence:.1f} s"),
    State("outside_limits", ERROR, "joint outside its limits: {outside}"),
    State("unheard", WARN, "nobody listens on {topic}"),
    State("braking", WARN, "braking: {fastest}; the arm is led on when it is slow"),
    State("not_alone", WARN, "other publishers on {topic}: {others}; expected this node alone"),
    State("approaching", WARN, "on the way to the path: {distance} from it"),
    State("off_path", WARN, "{news}"),
    State("overruns", WARN, "overruns in the last while: {overruns}"),
    State("paused", OK, "paused"),
    State("standing", OK, "time stands still: the same joint state for {seconds:.1f} s"),
    State("tracking", OK, "tracking"),
)
"""In the order in which they are told where several hold."""
BY_NAME = {state.name: state for state in STATES}
WITHOUT_ERRORS = ("fault", "waiting", "silent", "unheard", "braking", "approaching")
"""States in which the tool has no error to the path that is worth a number."""


@dataclass(frozen=True)
class TrackerFacts:
    """What is known now; each field that is set may be a reason for a state.

    Attributes:
        fault: Whether numbers stopped being finite.
        waiting: The topic on which nothing came yet.
        silence: How long nothing came, s; 0: it comes.
        outside: The joints outside their limits.
        unheard: The topic of commands to which nobody listens.
        braking: The fastest joint of an arm that is braked.
        others: Nodes that publish on `topic` beside this one.
        topic: The topic of commands, or of joint states in kinematic mode.
        approaching: The distance to the path on the way to it.
        off_path: What the watch says of the path or target.
        overruns: How many in the last while.
        paused: Whether the node was paused.
        standing: For how long the same joint state has come again and again, s.
    """

    fault: bool = False
    waiting: str = ""
    silence: float = 0.0
    outside: str = ""
    unheard: str = ""
    braking: str = ""
    others: str = ""
    topic: str = field(default="", compare=False)
    approaching: str = ""
    off_path: str = ""
    overruns: int = 0
    paused: bool = False
    standing: float = 0.0


def state_of(facts: TrackerFacts) -> tuple[State, str]:
    """Return the first state of `STATES` that holds, and its sentence."""
    holds = {
        "fault": facts.fault,
        "waiting": facts.waiting,
        "silent": facts.silence,
        "outside_limits": facts.outside,
        "unheard": facts.unheard,
        "braking": facts.braking,
        "not_alone": facts.others,
        "approaching": facts.approaching,
        "off_path": facts.off_path,
        "overruns": facts.overruns,
        "paused": facts.paused,
        "standing": facts.standing,
        "tracking": True,
    }
    state = next(state for state in STATES if holds[state.name])
    sentence = state.says(
        topic=facts.waiting or facts.unheard or facts.topic,
        silence=facts.silence,
        outside=facts.outside,
        fastest=facts.braking,
        others=facts.others,
        distance=facts.approaching,
        news=facts.off_path,
        overruns=facts.overruns,
        seconds=facts.standing,
    )
    return state, sentence


POSES_PER_LAP = 300
TRAIL_PERIOD = 0.02
"""Path time between poses of the trail where the path has no end, s."""


class TrackerTopics:
    """The publishers of a tracker node; positions, twists and errors are in its base frame."""

    def __init__(self, node: Node, frame: str, path_length: int):
        """Make the publishers."""
        self._frame = frame
        self._desired_path = node.create_publisher(Path, "~/desired_path", LATCHED)
        self._desired_pose = node.create_publisher(PoseStamped, "~/desired_pose", 100)
        self._actual_path = node.create_publisher(Path, "~/actual_path", 10)
        self._error = node.create_publisher(TwistStamped, "~/error", 100)
        self._trail: deque[PoseStamped] = deque(maxlen=path_length)
        self._spacing_ns = 0

    def begin(self, path: clik.Path, origin_ns: int, step: float) -> None:
        """Begin a new trail; publish one lap of the path from the stamp of its begin on."""
        self._trail.clear()
        endless = np.isinf(path.duration)
        spacing = TRAIL_PERIOD if endless else path.duration / POSES_PER_LAP
        self._spacing_ns = round(max(spacing, step) * 1e9)
        if endless:
            return
        count = int(np.ceil(path.duration / step - 1e-6))
        kept = np.unique([*range(0, count, max(1, count // POSES_PER_LAP)), count]) * step
        poses = [
            pose_stamped(self._frame, origin_ns + round(t * 1e9), path.pose(t))
            for t in map(float, kept)
        ]
        self._desired_path.publish(Path(header=header(self._frame, origin_ns), poses=poses))

    def publish(self, stamp_ns: int, desired: clik.Pose, actual: clik.Pose, error: Vector) -> None:
        """Publish desired pose and error (6,) if somebody listens; keep the actual pose."""
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
        """Publish the trail if somebody listens."""
        if self._trail and self._actual_path.get_subscription_count():
            poses = list(self._trail)
            self._actual_path.publish(Path(header=poses[-1].header, poses=poses))
