"""The CLIK tracker node: joint states of an arm whose tool follows a path."""

from __future__ import annotations

import sys
import threading
from collections import deque
from typing import Any

import numpy as np
from geometry_msgs.msg import Point, Pose, PoseStamped, Quaternion, TwistStamped, Vector3
from nav_msgs.msg import Path
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from std_srvs.srv import SetBool, Trigger

from manip_dyn import clik
from manip_dyn.errors import ManipDynError
from manip_dyn.nodes import diagnostics, messages
from manip_dyn.nodes.base import SetUpNode
from manip_dyn.nodes.pacing import Pacer
from manip_dyn.nodes.parameters import NUMBERS, Parameter, declare, on_change
from manip_dyn.nodes.robot_parameters import ROBOT_PARAMETERS
from manip_dyn.nodes.run import run, unless_shut_down
from manip_dyn.validate import finite_vector

PARAMETERS = (
    *ROBOT_PARAMETERS,
    Parameter("step", 0.1, "Sampling period of the integration (RK4)", "s", 1e-5, 10.0),
    Parameter("real_time_factor", 1.0, "Path time per wall time", minimum=1e-3, maximum=1e3,
              dynamic=True),
    Parameter("gain", 2.0, "Feedback gain K of the task error", "1/s", 1e-3, 1e4, dynamic=True),
    Parameter("damping_threshold", 0.04, "Smallest singular value of the Jacobian below which "
              "damping begins", "", 1e-6, 10.0, dynamic=True),
    Parameter("max_damping", 0.04, "Damping at a singularity", "", 0.0, 10.0, dynamic=True),
    Parameter("initial_position", NUMBERS, "Joint positions to start from; not set: a posture "
              "on the path", "rad or m"),
    Parameter("start_on_path", True, "Move the initial posture onto the path's first pose before "
              "the motion begins"),
    Parameter("circle.center", NUMBERS, "Centre of the circle in the base frame (3 numbers)", "m"),
    Parameter("circle.normal", NUMBERS, "Axis of the circle in the base frame (3 numbers)"),
    Parameter("circle.start", NUMBERS, "Direction from the centre to the first point (3 numbers)"),
    Parameter("circle.tool_rpy", NUMBERS, "Constant orientation of the tool: roll, pitch, yaw "
              "about fixed axes", "rad"),
    Parameter("circle.linear_speed", 0.1, "Speed of the tool", "m/s", 1e-6, 100.0),
    Parameter("circle.angular_speed", 0.2, "Speed of the radius; radius = linear_speed / "
              "angular_speed", "rad/s", 1e-6, 100.0),
    Parameter("path_length", 2000, "Poses kept on ~/actual_path", "", 1, 1000000),
)  # fmt: skip


class ClikTrackerNode(SetUpNode):
    """Follows a circle in kinematic mode; the mathematics is in `clik.Tracker`."""

    def __init__(self, **options: Any):
        """Take rclpy's node options."""
        super().__init__("clik_tracker", **options)

    def set_up(self) -> None:
        """Declare parameters, load the robot, find the start posture and start the clock."""
        values = declare(self, PARAMETERS)
        self._values = values
        self._robot = messages.load_robot_from_parameters(values)
        self._path = circle_from_parameters(values)
        self._tracker = clik.Tracker(
            self._robot, self._path, self._start_posture(), values["step"], self._settings()
        )
        if self._tracker.unstable:
            raise ManipDynError(self._tracker.unstable)
        self._lock = threading.RLock()
        self._paused = False
        self._trail: deque[PoseStamped] = deque(maxlen=values["path_length"])
        self._began = False
        self._connect()
        self._restart()
        self._pacer = Pacer(self._cycle, self._wall_period())
        if self.get_parameter("use_sim_time").value:
            self.create_timer(self._wall_period(), self._cycle)
            self.get_logger().info("use_sim_time is set: time comes from /clock")
        else:
            self._pacer.start()

    def close(self) -> None:
        """Stop the clock."""
        self._pacer.stop()

    # ------------------------------------------------------------------ set-up
    def _connect(self) -> None:
        self._states = self.create_publisher(JointState, "joint_states", messages.EVERY_MESSAGE)
        self._desired_path = self.create_publisher(Path, "~/desired_path", messages.LATCHED)
        self._desired_pose = self.create_publisher(PoseStamped, "~/desired_pose", 100)
        self._actual_path = self.create_publisher(Path, "~/actual_path", 10)
        self._error = self.create_publisher(TwistStamped, "~/error", 100)
        description = self.create_publisher(String, "robot_description", messages.LATCHED)
        description.publish(String(data=self._robot.urdf))
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(SetBool, "~/pause", self._on_pause)
        diagnostics.publish_every_second(self, self._report)
        on_change(self, PARAMETERS, self._on_parameters)
        for note in self._robot.notes:
            self.get_logger().warning(note)

    def _settings(self) -> clik.ClikSettings:
        names = ("gain", "damping_threshold", "max_damping")
        return clik.ClikSettings(**{name: self._values[name] for name in names})

    def _start_posture(self) -> np.ndarray:
        given = self._values["initial_position"]
        if not len(given):
            return clik.posture_for(
                self._robot, self._path.pose(0.0), clik.middle_posture(self._robot)
            )
        posture = messages.joint_array("initial_position", given, self._robot)
        self._robot.check_within_limits("initial position", posture)
        if not self._values["start_on_path"]:
            return posture
        return clik.posture_for(self._robot, self._path.pose(0.0), posture)

    def _restart(self) -> None:
        self._tracker.reset()
        self._trail.clear()
        self._limits_met: dict[str, float] = {}
        self._slowest = 1.0
        self._began = False
        self._origin_ns = self.get_clock().now().nanoseconds
        self._sample = self._tracker.sample()
        self._publish_desired_path()

    # -------------------------------------------------------------------- time
    def _wall_period(self) -> float:
        return self._values["step"] / self._values["real_time_factor"]

    def _cycle(self) -> None:
        with self._lock:
            if not self._paused:
                unless_shut_down(self, self._advance)

    def _advance(self) -> None:
        self._sample = self._tracker.step() if self._began else self._tracker.sample()
        self._began = True
        for joint in self._sample.at_limit:
            if joint not in self._limits_met:
                self.get_logger().warning(
                    f"joint '{joint}' met its limit at {self._sample.t:.3f} s of the path"
                )
            self._limits_met.setdefault(joint, self._sample.t)
        self._slowest = min(self._slowest, self._sample.speed_scale)
        self._publish()

    # ---------------------------------------------------------------- services
    def _on_reset(self, _request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            self._restart()
        response.success, response.message = True, "back at the start of the path"
        return response

    def _on_pause(self, request, response: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._paused = request.data
        response.success, response.message = True, "paused" if request.data else "running"
        return response

    def _on_parameters(self, changed: dict[str, Any]) -> None:
        with self._lock:
            self._values.update(changed)
            self._tracker.settings = self._settings()
            self._pacer.set_period(self._wall_period())

    # -------------------------------------------------------------- publishing
    def _header(self, t: float) -> Header:
        stamp = messages.to_time(self._origin_ns + round(t * 1e9))
        return Header(stamp=stamp, frame_id=self._robot.base)

    def _pose_message(self, t: float, pose: clik.Pose) -> PoseStamped:
        x, y, z, w = Rotation.from_matrix(pose.rotation).as_quat()
        position = Point(**dict(zip("xyz", map(float, pose.position), strict=True)))
        orientation = Quaternion(x=float(x), y=float(y), z=float(z), w=float(w))
        return PoseStamped(
            header=self._header(t), pose=Pose(position=position, orientation=orientation)
        )

    def _publish(self) -> None:
        sample = self._sample
        header = self._header(sample.t)
        stamp = messages.to_nanoseconds(header.stamp)
        self._desired_pose.publish(self._pose_message(sample.t, sample.desired))
        self._states.publish(messages.joint_state(self._robot, stamp, sample.q, sample.v))
        error = TwistStamped(header=header)
        error.twist.linear = Vector3(**dict(zip("xyz", map(float, sample.error[:3]), strict=True)))
        error.twist.angular = Vector3(
            **dict(zip("xyz", map(float, sample.error[3:]), strict=True))
        )
        self._error.publish(error)
        self._trail.append(self._pose_message(sample.t, sample.actual))
        if self._actual_path.get_subscription_count():
            self._actual_path.publish(Path(header=header, poses=list(self._trail)))

    def _publish_desired_path(self) -> None:
        times = np.arange(0.0, self._path.period + self._values["step"], self._values["step"])
        times = times[:: max(1, len(times) // 1000)]
        poses = [self._pose_message(float(t), self._path.pose(float(t))) for t in times]
        self._desired_path.publish(Path(header=self._header(0.0), poses=poses))

    def _report(self) -> diagnostics.Report:
        with self._lock:
            sample, pacing = self._sample, self._pacer.statistics()
            values = {
                "path time [s]": sample.t,
                "position error [m]": float(np.linalg.norm(sample.error[:3])),
                "orientation error [rad]": float(np.linalg.norm(sample.error[3:])),
                "smallest singular value": sample.smallest_singular_value,
                "damping": sample.damping,
                "smallest speed scale": self._slowest,
                "joints that met a limit": ", ".join(self._limits_met) or "none",
                "mean rate [Hz]": pacing.rate,
                "p99 period error [s]": pacing.p99_period_error,
                "overruns": pacing.overruns,
            }
        if self._limits_met:
            joints = values["joints that met a limit"]
            return diagnostics.Report(diagnostics.WARN, f"joint limit met: {joints}", values)
        if sample.damping > 0.0:
            return diagnostics.Report(diagnostics.WARN, "near a singularity: damped", values)
        return diagnostics.Report(diagnostics.OK, "paused" if self._paused else "tracking", values)


def circle_from_parameters(values: dict[str, Any]) -> clik.Circle:
    """Return the circle that the ``circle.*`` parameters describe."""
    given = {
        key: list(values[f"circle.{key}"]) for key in ("center", "normal", "start", "tool_rpy")
    }
    for key in ("center", "normal", "start"):
        if not given[key]:
            raise ManipDynError(f"parameter 'circle.{key}' is not set; expected 3 numbers")
    given["tool_rpy"] = given["tool_rpy"] or [0.0, 0.0, 0.0]
    rpy = finite_vector("circle.tool_rpy", given["tool_rpy"], 3)
    return clik.Circle(
        center=given["center"],
        normal=given["normal"],
        start=given["start"],
        rotation=Rotation.from_euler("xyz", rpy).as_matrix(),
        linear_speed=values["circle.linear_speed"],
        angular_speed=values["circle.angular_speed"],
    )


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(ClikTrackerNode, args)


if __name__ == "__main__":
    sys.exit(main())
