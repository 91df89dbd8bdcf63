"""The CLIK tracker node: an arm whose tool follows a path or what arrives as a target."""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from manip_dyn import clik
from manip_dyn.clik.control.reference import Reference
from manip_dyn.clik.paths.follower import Follower
from manip_dyn.codegen import customize
from manip_dyn.errors import ManipDynError
from manip_dyn.nodes import diagnostics, messages
from manip_dyn.nodes.arm_driver import ArmDriver
from manip_dyn.nodes.base import SetUpNode
from manip_dyn.nodes.live_target import LiveTarget
from manip_dyn.nodes.pacing import Pacer
from manip_dyn.nodes.parameters import declare, on_change
from manip_dyn.nodes.path_parameters import path_from
from manip_dyn.nodes.run import run, unless_shut_down
from manip_dyn.nodes.tracker_parameters import PARAMETERS, refused_together, settings_from
from manip_dyn.nodes.tracker_topics import TrackerTopics
from manip_dyn.nodes.tracker_watch import TrackerWatch

TRAIL_EVERY = 0.2
"""Wall time between messages on ~/actual_path, s."""


class ClikTrackerNode(SetUpNode):
    """Wires a `clik.Reference` to time and topics; in dynamic mode `ArmDriver` keeps the time."""

    def __init__(self, **options: Any):
        """Take rclpy's node options."""
        super().__init__("clik_tracker", **options)

    def set_up(self) -> None:
        """Declare parameters, load the robot, find the start posture and start the clock."""
        values = self._values = declare(self, PARAMETERS)
        self._robot = messages.load_robot_from_parameters(
            values, "forward_kinematics", "inverse_dynamics"
        )
        problem = refused_together(values, self._robot)
        if problem:
            raise ManipDynError(problem)
        self._lock = threading.RLock()
        self._dynamic = values["mode"] == "dynamic"
        self._paused = False
        posture = self._first_posture()
        self._path = path_from(values, self._tool_at(posture))
        self._reference = Reference(
            clik.Tracker(
                self._robot, self._path, self._start_posture(posture), values["step"],
                settings_from(values), values["method"],
            )
        )  # fmt: skip
        self._watch = TrackerWatch(self._robot, self._path, values["tolerance"])
        frame = values["base_frame"] or self._robot.base
        self._topics = TrackerTopics(self, self._robot, frame, values["path_length"])
        self._steps, self._begun = 0, False
        self._connect(frame)
        if not self._dynamic:
            self._begin()
        self._start_clock()

    def close(self) -> None:
        """Stop the clock."""
        if self._pacer is not None:
            self._pacer.stop()

    # ------------------------------------------------------------------ set-up
    def _connect(self, frame: str) -> None:
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(SetBool, "~/pause", self._on_pause)
        self._target = None
        if isinstance(self._path, Follower):
            timeout = self._values["command_timeout"]
            self._target = LiveTarget(
                self, self._path, frame, timeout, self._lock, ready=lambda: self._begun
            )
        self._driver = None
        if self._dynamic:
            self._driver = ArmDriver(
                self, self._robot, self._reference, self._values,
                self._begin, self._on_moved, self._before_step,
            )  # fmt: skip
        else:
            depth = messages.EVERY_MESSAGE
            self._states = self.create_publisher(JointState, "joint_states", depth)
        diagnostics.publish_every_second(self, self._report)
        self.create_timer(TRAIL_EVERY, self._publish_trail)
        on_change(self, PARAMETERS, self._on_parameters, self._refuse_parameters)
        for note in self._robot.notes:
            self.get_logger().warning(note)

    def _start_clock(self) -> None:
        self._pacer = None
        if self._dynamic:
            return
        self._pacer = Pacer(self._cycle, self._wall_period())
        if self.get_parameter("use_sim_time").value:
            self.create_timer(self._wall_period(), self._cycle)
            self.get_logger().info("use_sim_time is set: time comes from /clock")
        else:
            self._pacer.start()

    def _first_posture(self) -> np.ndarray:
        given = self._values["initial_position"]
        if not len(given):
            return clik.dexterous_posture(self._robot)
        posture = messages.joint_array("initial_position", given, self._robot)
        self._robot.check_within_limits("initial position", posture)
        return posture

    def _start_posture(self, posture: np.ndarray) -> np.ndarray:
        given = len(self._values["initial_position"]) > 0
        if isinstance(self._path, Follower) or (given and not self._values["start_on_path"]):
            return posture
        return clik.posture_for(self._robot, self._path.pose(0.0), posture)

    def _tool_at(self, posture: np.ndarray) -> clik.Pose:
        matrix = customize(self._robot).forward_kinematics(posture)
        return clik.Pose(matrix[:3, 3], matrix[:3, :3])

    def _begin(self) -> None:
        """The path begins: now, or at the stamp that the arm's driver says."""
        self._watch.begin()
        self._steps, self._begun = 0, True
        now = self.get_clock().now().nanoseconds
        self._origin_ns = self._driver.origin_ns if self._driver else now
        self._topics.begin(self._path, self._origin_ns, self._values["step"])

    # -------------------------------------------------------------------- time
    def _wall_period(self) -> float:
        return self._values["step"] / self._values["real_time_factor"]

    def _cycle(self) -> None:
        with self._lock:
            if not self._paused:
                unless_shut_down(self, self._advance)

    def _advance(self) -> None:
        """Make one step in kinematic mode."""
        if self._steps:
            self._before_step()
            self._reference.advance()
        sample = self._reference.sample
        stamp = self._origin_ns + round(sample.t * 1e9)
        self._states.publish(messages.joint_state(self._robot, stamp, sample.q, sample.v))
        self._tell(stamp, sample)

    def _before_step(self) -> None:
        if self._target is not None:
            self._target.at(self._reference.sample.path_time)

    def _on_moved(self, stamp: int, q: np.ndarray, v: np.ndarray) -> None:
        """Look at the arm's own joints in dynamic mode."""
        if self._reference.on_path:
            wanted = self._reference.sample
            actual = self._tool_at(q)
            error = clik.task_error(
                wanted.desired, actual, self._reference.tracker.settings.orientation_error
            )
            self._tell(stamp, wanted._replace(q=q, v=v, actual=actual, error=error))

    def _tell(self, stamp: int, sample: clik.TrackingSample) -> None:
        if self._steps % self._values["publish_every"] == 0:
            self._topics.publish(stamp, sample.desired, sample.actual, sample.error)
        self._steps += 1
        self._watch.look(sample, self._values["gain"])
        self._sample = sample
        while self._watch.news:
            self.get_logger().warning(self._watch.news.pop(0))

    def _publish_trail(self) -> None:
        with self._lock:
            self._topics.publish_trail()

    # ---------------------------------------------------------------- services
    def _on_reset(self, _request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            if self._driver is not None:
                self._driver.restart()
                response.message = "back to the start of the path, from where the arm is"
            else:
                self._reference.begin()
                self._begin()
                response.message = "back at the start of the path"
        response.success = True
        return response

    def _on_pause(self, request, response: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._paused = request.data
            if self._driver is not None:
                self._driver.paused = request.data
            if self._target is not None:
                self._target.halt()
        response.success, response.message = True, "paused" if request.data else "running"
        return response

    def _refuse_parameters(self, changed: dict[str, Any]) -> str:
        return refused_together(self._values | changed, self._robot)

    def _on_parameters(self, changed: dict[str, Any]) -> None:
        with self._lock:
            self._values.update(changed)
            self._reference.tracker.settings = settings_from(self._values)
            if self._driver is not None:
                feedback = (self._values[f"joint_{name}"] for name in ("stiffness", "damping"))
                self._driver.controller.set_feedback(*feedback)
            elif "real_time_factor" in changed:
                self._pacer.set_period(self._wall_period())

    # ------------------------------------------------------------------ report
    def _report(self) -> diagnostics.Report:
        with self._lock:
            source = self._driver or self._pacer
            pacing = source.statistics()
            sample = self._sample if self._steps else self._reference.sample
            values = {"mode": self._values["mode"], **self._watch.values(sample)}
            if self._driver is not None:
                values |= self._driver.report()
            if self._target is not None:
                values["dropped targets"] = self._target.dropped
            values |= {
                "mean rate [Hz]": pacing.rate,
                "p99 period error [s]": pacing.p99_period_error,
                "max period error [s]": pacing.max_period_error,
                "overruns": pacing.overruns,
            }
            return diagnostics.Report(*self._level(sample), values)

    def _level(self, sample: clik.TrackingSample) -> tuple[bytes, str]:
        problem = self._driver.problem if self._driver is not None else ""
        if problem or self._reference.tracker.status:
            return diagnostics.ERROR, problem or "numbers became infinite or NaN: call ~/reset"
        sentence = self._watch.sentence(sample)
        if sentence:
            return diagnostics.WARN, sentence
        return diagnostics.OK, "paused" if self._paused else "tracking"


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(ClikTrackerNode, args)


if __name__ == "__main__":
    sys.exit(main())
