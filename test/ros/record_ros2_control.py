"""Run the arm under ros2_control and store the outcomes.

``python test/ros/record_ros2_control.py docs`` requires a workspace with manip_dyn and the
packages of docs/ros2_control.md. Names after the folder select runs; NAME#2 repeats a run and
stores both.
"""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager, suppress
from copy import deepcopy
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

sys.path.append(str(Path(__file__).parents[1]))  # the helpers of all tests

import conftest  # noqa: F401  (real nodes, on this machine only)
import numpy as np
import yaml
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTolerance, JointTrajectoryControllerState
from controller_manager_msgs.srv import (
    ConfigureController,
    ListControllers,
    LoadController,
    SwitchController,
)
from diagnostic_msgs.msg import DiagnosticArray
from harness import LATCHED, Ros
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from ros2_control_page import updated_page
from scipy.spatial.transform import Rotation
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from tf2_msgs.msg import TFMessage
from trajectory_msgs.msg import JointTrajectoryPoint

import manip_dyn as md
from manip_dyn.bench import commit

PACKAGES = (
    "rclcpp",
    "controller_manager",
    "joint_trajectory_controller",
    "joint_state_topic_hardware_interface",
    "robot_state_publisher",
)
"""Packages whose versions are stored."""
STATUS = {4: "succeeded", 5: "canceled", 6: "aborted"}
"""Name of an action's final status by its number."""
DURATION = 1.0
"""Duration of a trajectory, s."""
AMPLITUDE = 0.6
"""Displacement of every joint by a trajectory, rad."""
AT_REST = 0.01
"""Highest joint speed of an arm at rest, rad/s."""
ARRIVED = 1e-3
"""Largest joint error of an arm at its goal, rad."""
SUCCESSORS = (
    "second_trajectory_controller",
    "forward_position_controller",
    "forward_velocity_controller",
)
"""Controllers that replace joint_trajectory_controller during a motion."""
EXCESS = 0.1
"""Fraction of the weight that the efforts of a silent publisher exceed it by."""


@contextmanager
def installed_at(rate, edit):
    """Install manip_dyn with its configuration at a rate, Hz, in front of the workspace."""
    with tempfile.TemporaryDirectory() as folder:
        prefix, source = Path(folder), Path(get_package_prefix("manip_dyn"))
        share = prefix / "share" / "manip_dyn"
        shutil.copytree(get_package_share_directory("manip_dyn"), share)
        index = prefix / "share" / "ament_index" / "resource_index" / "packages"
        index.mkdir(parents=True)
        (index / "manip_dyn").touch()
        (prefix / "lib").symlink_to(source / "lib")
        for file in (share / "config" / "ros2_control").glob("*_controllers.yaml"):
            content = yaml.safe_load(file.read_text(encoding="utf-8"))
            content["controller_manager"]["ros__parameters"]["update_rate"] = rate
            content["/**/simulator"]["ros__parameters"]["control_period"] = 1.0 / rate
            edit(content)
            file.unlink()
            file.write_text(yaml.safe_dump(content), encoding="utf-8")
        path = f"{prefix}:{os.environ['AMENT_PREFIX_PATH']}"
        yield {**os.environ, "AMENT_PREFIX_PATH": path, "ROS_LOG_DIR": folder}


class Arm:
    """The processes of a launch line, and a client of the controllers."""

    def __init__(self, ros, robot, command, arguments, environment, log):
        """Launch the nodes."""
        self.ros, self.robot = ros, md.load_robot(robot)
        self._simulated_time = SIMULATED_TIME in arguments
        line = ["ros2", "launch", "manip_dyn", "ros2_control.launch.py"]
        self.process = subprocess.Popen(
            [*line, f"robot:={robot}", f"command:={command}", *arguments],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.states, self.errors = [], []
        ros.probe.create_subscription(
            JointState, "simulator/joint_states", self._on_state, qos_profile_sensor_data
        )
        self.diagnostics = ros.listen(DiagnosticArray, "/diagnostics")
        self.reports = ros.listen(DiagnosticArray, "/diagnostics")
        self.frames = {}
        for topic, qos in (("/tf", 100), ("/tf_static", LATCHED)):
            ros.probe.create_subscription(TFMessage, topic, self._on_frames, qos)
        self.controller = {
            "position": "joint_trajectory_controller",
            "velocity": "velocity_trajectory_controller",
            "effort": "forward_effort_controller",
        }[command]
        if command == "effort":
            self.efforts = self.publisher(f"{self.controller}/commands")
        else:
            topic = f"{self.controller}/controller_state"
            ros.probe.create_subscription(
                JointTrajectoryControllerState, topic, self._on_error, qos_profile_sensor_data
            )
            action = f"{self.controller}/follow_joint_trajectory"
            self.client = ActionClient(ros.probe, FollowJointTrajectory, action)

    def publisher(self, topic):
        """Return a publisher of efforts."""
        return self.ros.probe.create_publisher(Float64MultiArray, topic, QoSProfile(depth=1))

    def until_active(self):
        """Wait until the arm moves on command."""
        active = lambda: self.states and self.is_active()  # noqa: E731
        self.ros.until(active, "the controller is not active", 120.0)
        self.ros.spin(2.0)

    def close(self):
        """End the processes of the launch line."""
        self.process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(20.0)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def _on_state(self, message):
        q, v = np.array(message.position), np.array(message.velocity)
        stamp = message.header.stamp
        order = [message.name.index(name) for name in self.robot.joint_names]
        self.states.append((stamp.sec + 1e-9 * stamp.nanosec, q[order], v[order]))

    def _on_error(self, message):
        self.errors.append(np.abs(message.error.positions).max())

    def _on_frames(self, message):
        for transform in message.transforms:
            self.frames[transform.child_frame_id] = transform

    def is_active(self):
        """Return whether the controller of the launch line is active."""
        response = self.ros.call(ListControllers, "controller_manager/list_controllers")
        return (self.controller, "active") in [(c.name, c.state) for c in response.controller]

    @property
    def q(self):
        """The latest joint positions, rad."""
        return self.states[-1][1]

    @property
    def error(self):
        """The largest distance of a joint from the goal, rad."""
        return float(np.abs(self.q - self.goal).max())

    @property
    def speed(self):
        """The latest joint speed, rad/s."""
        return float(np.abs(self.states[-1][2]).max())

    @property
    def now(self):
        """The time of the simulator's stamps, s: wall-clock time, or that of the latest state."""
        return self.states[-1][0] if self._simulated_time else time.time()

    def lowest_share(self):
        """Return the lowest `real_time_share` that the simulator reported."""
        values = [v for m in self.reports for s in m.status for v in s.values]
        return min((float(v.value) for v in values if v.key == "real_time_share"), default=None)

    def send(self, displacement, **tolerances):
        """Send a trajectory to a displacement from the current positions; return its handle."""
        goal = FollowJointTrajectory.Goal(**tolerances)
        goal.trajectory.joint_names = list(self.robot.joint_names)
        self.goal = self.q + displacement
        point = JointTrajectoryPoint(
            positions=self.goal.tolist(), velocities=[0.0] * len(self.goal)
        )
        point.time_from_start.sec = round(DURATION)
        goal.trajectory.points = [point]
        self.ros.until(self.client.server_is_ready, "no action server")
        self.errors.clear()
        future = self.client.send_goal_async(goal)
        self.ros.until(future.done, "no answer to the goal")
        assert future.result().accepted
        return future.result()

    def result(self, handle):
        """Return status, error code and error message of a goal after its end."""
        future = handle.get_result_async()
        self.ros.until(future.done, "no result", 30.0)
        response = future.result()
        result = response.result
        return {
            "status": STATUS[response.status],
            "error_code": result.error_code,
            "message": result.error_string,
        }

    def until_fast(self):
        """Wait for the middle of the trajectory."""
        halfway = lambda: np.abs(self.q - self.goal).max() <= 0.5 * AMPLITUDE  # noqa: E731
        self.ros.until(halfway, "the arm does not move", 20.0)

    def until_rest(self, start):
        """Wait until the arm is at rest; return its motion before and after a time of its stamps.

        Stamps do not depend on when states arrive.
        """
        self.ros.until(lambda: self.speed < AT_REST, "the arm does not come to rest", 20.0)
        self.ros.spin(0.5)
        assert self.speed < AT_REST
        speeds = [(stamp, float(np.abs(v).max())) for stamp, _, v in self.states]
        after = [(stamp, speed) for stamp, speed in speeds if stamp > start]
        moving = [stamp for stamp, speed in after if speed >= AT_REST]
        return {
            "speed": [speed for stamp, speed in speeds if stamp <= start][-1],
            "fastest_after": max(speed for _, speed in after),
            "rest_after_s": round(moving[-1] - start, 4) if moving else 0.0,
        }

    def condition(self):
        """Return the state that the simulator reports next."""
        self.diagnostics.clear()

        def reported():
            return [s for m in self.diagnostics for s in m.status if "simulator" in s.name]

        self.ros.until(reported, "no report of the simulator")
        return {v.key: v.value for v in reported()[-1].values}["state"]

    def kill_manager(self):
        """Kill the controller manager (-9); return the time."""
        pid = child_of(self.process.pid, "ros2_control_node")
        os.kill(pid, signal.SIGKILL)
        return self.now


def child_of(pid, name):
    """Return the process number of a child whose command contains a name."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return next(int(c) for c in children if name in Path(f"/proc/{c}/cmdline").read_text())


def goals(arm):
    """Three trajectories: status and errors of each."""
    rows = []
    for sign in (1.0, -1.0, 1.0):
        answer = arm.result(arm.send(sign * AMPLITUDE))
        # The error is NaN until the first trajectory if no state arrived before the activation.
        largest = max((error for error in arm.errors if np.isfinite(error)), default=np.nan)
        at_end, end, deadline = arm.error, time.monotonic(), time.monotonic() + 10.0
        while arm.error > ARRIVED and time.monotonic() < deadline:
            arm.ros.spin(0.01)
        delay = round(time.monotonic() - end, 3) if arm.error <= ARRIVED else None
        arm.ros.spin(0.5)
        errors = {"largest_error": largest, "error_at_end": at_end, "final_error": arm.error}
        errors = {name: number(error) for name, error in errors.items()}
        rows.append({**answer, **errors, "arrival_after_s": delay})
    return rows


def frames(arm):
    """Pose of the tip by the `tf` of robot_state_publisher, compared with the model's."""
    arm.ros.until(lambda: arm.robot.tip in arm.frames, "no transforms", 20.0)
    arm.ros.spin(1.0)
    pose, name = np.eye(4), arm.robot.tip
    while name in arm.frames:
        transform = arm.frames[name].transform
        parent = np.eye(4)
        r, p = transform.rotation, transform.translation
        parent[:3, :3] = Rotation.from_quat([r.x, r.y, r.z, r.w]).as_matrix()
        parent[:3, 3] = p.x, p.y, p.z
        pose, name = parent @ pose, arm.frames[name].header.frame_id
    expected = md.customize(arm.robot).forward_kinematics(arm.q)
    return {"transforms": len(arm.frames), "error": float(np.abs(pose - expected).max())}


def number(value):
    """Return a float, or None in place of NaN, which JSON does not have."""
    return None if np.isnan(value) else float(value)


def violations(arm):
    """Trajectories with tolerances that cannot be satisfied."""
    names = arm.robot.joint_names
    tolerances = [JointTolerance(name=name, position=1e-9, velocity=1e-9) for name in names]
    path = arm.result(arm.send(-AMPLITUDE, path_tolerance=tolerances))
    arm.until_rest(arm.now)
    tolerances = [JointTolerance(name=name, position=1e-15) for name in names]
    goal = FollowJointTrajectory.Goal()
    goal.goal_time_tolerance.nanosec = 200_000_000
    late = arm.result(
        arm.send(
            AMPLITUDE, goal_tolerance=tolerances, goal_time_tolerance=goal.goal_time_tolerance
        )
    )
    return {"path_tolerance": path, "goal_tolerance": late}


def cancelled(arm):
    """A trajectory that is cancelled in its middle."""
    handle = arm.send(-AMPLITUDE)
    arm.until_fast()
    start = arm.now
    handle.cancel_goal_async()
    return {**arm.result(handle), **arm.until_rest(start)}


def deactivated(arm):
    """A trajectory whose controller is deactivated in its middle, and its restart."""
    handle = arm.send(AMPLITUDE)
    arm.until_fast()
    start = arm.now
    switch(arm, deactivate_controllers=[arm.controller])
    outcome = {**arm.result(handle), **arm.until_rest(start)}
    switch(arm, activate_controllers=[arm.controller])
    arm.ros.until(arm.is_active, "the controller is not active")
    return outcome


def switched(arm):
    """Trajectories whose controller is replaced by another one in their middle."""
    rows = {}
    for successor in SUCCESSORS:
        load(arm, successor)
        handle = arm.send(AMPLITUDE if len(rows) % 2 else -AMPLITUDE)
        arm.until_fast()
        start, position = arm.now, arm.q
        switch(arm, activate_controllers=[successor], deactivate_controllers=[arm.controller])
        rows[successor] = {
            **arm.result(handle),
            **arm.until_rest(start),
            "distance": float(np.abs(arm.q - position).max()),
            "simulator": arm.condition(),
        }
        switch(arm, activate_controllers=[arm.controller], deactivate_controllers=[successor])
        arm.ros.until(arm.is_active, "the controller is not active")
    return rows


def load(arm, name):
    """Load and configure a controller."""
    for kind, service in ((LoadController, "load"), (ConfigureController, "configure")):
        request = kind.Request(name=name)
        assert arm.ros.call(kind, f"controller_manager/{service}_controller", request).ok


def switch(arm, **controllers):
    """Activate or deactivate controllers."""
    request = SwitchController.Request(strictness=SwitchController.Request.STRICT, **controllers)
    assert arm.ros.call(SwitchController, "controller_manager/switch_controller", request).ok


def killed(arm):
    """SIGKILL of the controller manager in the middle of a trajectory."""
    arm.send(-AMPLITUDE)
    arm.until_fast()
    start = arm.kill_manager()
    return {**arm.until_rest(start), "simulator": arm.condition()}


def weight(arm):
    """Return the efforts that hold the arm at its positions, N m."""
    zero = np.zeros_like(arm.q)
    return md.customize(arm.robot).inverse_dynamics(arm.q, zero, zero)


def held(arm):
    """Efforts of gravity, published for two seconds; then other efforts and silence."""
    start, efforts = arm.q.copy(), weight(arm)
    publish(arm, efforts, 2.0)
    drift = float(np.abs(arm.q - start).max())
    publish(arm, efforts * (1.0 + EXCESS), 0.1)
    silent, end = arm.q.copy(), len(arm.states)
    arm.ros.spin(2.0)
    moved = float(np.abs(arm.q - silent).max())
    fastest = max(float(np.abs(v).max()) for _, _, v in arm.states[end:])
    condition = arm.condition()
    return {
        "drift": drift,
        "moved_in_silence": moved,
        "fastest_in_silence": fastest,
        "simulator": condition,
    }


def direct(arm):
    """Efforts that are published to the simulator without a controller; then silence."""
    publisher = arm.publisher("simulator/commands")  # this makes it a second commander
    publish(arm, weight(arm) * (1.0 + EXCESS), 0.3, publisher)
    return {**arm.until_rest(arm.now), "simulator": arm.condition()}


def publish(arm, efforts, duration, publisher=None):
    """Publish constant efforts at 100 Hz, by default to the controller."""
    end = time.monotonic() + duration
    while time.monotonic() < end:
        (publisher or arm.efforts).publish(Float64MultiArray(data=list(map(float, efforts))))
        arm.ros.spin(0.01)


def killed_in_motion(arm):
    """SIGKILL of the controller manager while efforts accelerate the arm."""
    publish(arm, weight(arm) * (1.0 + EXCESS), 0.3)
    start = arm.kill_manager()
    return {**arm.until_rest(start), "simulator": arm.condition()}


def no_gains(content):
    """Remove the gains of the velocity controller."""
    del content["velocity_trajectory_controller"]["ros__parameters"]["gains"]


def speed_limits(content):
    """Brake the arm beyond its speed limits."""
    content["/**/simulator"]["ros__parameters"]["speed_limits"] = "brake"


def lockstep(content):
    """Advance the simulator by one period per command."""
    content["/**/simulator"]["ros__parameters"]["mode"] = "lockstep"


def successors(content):
    """Add the controllers that replace the first one."""
    manager = content["controller_manager"]["ros__parameters"]
    first = content["joint_trajectory_controller"]["ros__parameters"]
    manager["second_trajectory_controller"] = dict(manager["joint_trajectory_controller"])
    content["second_trajectory_controller"] = {"ros__parameters": deepcopy(first)}
    for kind in ("position", "velocity"):
        name = f"forward_{kind}_controller"
        manager[name] = {"type": "forward_command_controller/ForwardCommandController"}
        options = {"joints": list(first["joints"]), "interface_name": kind}
        content[name] = {"ros__parameters": options}


TRAJECTORIES = {
    "goals": goals,
    "frames": frames,
    "violations": violations,
    "cancelled": cancelled,
    "deactivated": deactivated,
    "killed": killed,
}
EFFORTS = {"held": held, "killed": killed_in_motion}
SIMULATED_TIME = "use_sim_time:=true"


class Run(NamedTuple):
    """A launch line, its configuration and the experiments with the arm."""

    robot: str
    command: str
    rate: int
    cases: dict
    edit: object = None
    arguments: tuple = ()

    @property
    def variant(self):
        """The difference from the shipped configuration, apart from the rate."""
        edit = self.edit.__name__.replace("_", " ") if self.edit else ""
        return ", ".join(filter(None, (edit, "simulated time" if self.arguments else "")))


RUNS = {
    **{
        f"position_{rate}": Run("ur5", "position", rate, TRAJECTORIES) for rate in (100, 500, 1000)
    },
    **{f"effort_{rate}": Run("pa10", "effort", rate, EFFORTS) for rate in (100, 500, 1000)},
    "effort_500_speed_limits": Run("pa10", "effort", 500, {"held": held}, speed_limits),
    "effort_500_direct": Run("pa10", "effort", 500, {"direct": direct}),
    "velocity_500": Run("ur5", "velocity", 500, {"goals": goals, "killed": killed}),
    "velocity_500_without_gains": Run("ur5", "velocity", 500, {"goals": goals}, no_gains),
    "lockstep_500": Run("ur5", "position", 500, {"goals": goals}, lockstep),
    "switched_500": Run("ur5", "position", 500, {"switched": switched}, successors),
    **{
        f"position_{rate}_simulated_time": Run(
            "ur5", "position", rate, TRAJECTORIES, arguments=(SIMULATED_TIME,)
        )
        for rate in (100, 500, 1000)
    },
}


def run(name):
    """Return the outcome of a run."""
    robot, command, rate, cases, edit, arguments = entry = RUNS[name]
    load = [os.getloadavg()[0]]
    with (
        installed_at(rate, edit or (lambda content: None)) as environment,
        tempfile.TemporaryFile("w+") as log,
        Ros() as ros,
    ):
        arm = Arm(ros, robot, command, arguments, environment, log)
        outcomes = {}
        try:
            arm.until_active()
            for case, function in cases.items():
                if case == "killed":
                    share = arm.lowest_share()
                outcomes[case] = function(arm)
                print(name, case, outcomes[case], flush=True)
            if "killed" not in cases:
                share = arm.lowest_share()
        finally:
            arm.close()
            log.seek(0)
            text = log.read()
            print(text)
    return {
        "robot": robot,
        "command": command,
        "rate": rate,
        "variant": entry.variant,
        "commit": commit(),
        "load": [*load, os.getloadavg()[0]],
        "lowest_real_time_share": share,
        "cases": outcomes,
        "log": summary(text),
    }


def summary(text):
    """Return {warning or error of a node, without its numbers: count}."""
    counts = {}
    for line in text.splitlines():
        if match := re.search(r"\[(WARN|ERROR|FATAL)\] \[[\d.]+\] \[(.*?)\]: (.*)", line):
            level, node, message = match.groups()
            numberless = re.sub(r"[-\d.]*\d(e[-+]?\d+)?", "N", message)
            key = f"{level} {node}: {numberless}"
            counts[key] = counts.get(key, 0) + 1
    return counts


def environment():
    """Return versions and machine."""
    shares = {name: Path(get_package_share_directory(name)) for name in PACKAGES}
    return {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "packages": {
            name: ElementTree.parse(share / "package.xml").findtext("version")
            for name, share in shares.items()
        },
    }


if __name__ == "__main__":
    folder, *names = sys.argv[1:]
    file, page = (Path(folder) / f"ros2_control{end}" for end in (".json", "_runs.md"))
    stored = json.loads(file.read_text())["runs"] if file.exists() else {}
    data = {**environment(), "runs": stored}
    for name in names or RUNS:
        kind = name.split("#")[0]  # a repeated run is stored under another name, as in "NAME#2"
        data["runs"][name] = run(kind)
        file.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    page.write_text(updated_page(page.read_text(encoding="utf-8"), data), encoding="utf-8")
