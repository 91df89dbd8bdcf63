"""Controls of the viewer page, implemented with services, topics and parameters of the nodes."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event

import numpy as np
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import GetParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Plan
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.bang_bang_planner import PLANNERS
from manip_dyn.viewer.motions import plan_motion
from manip_dyn.viewer.scene import Controls

NODES_WITH_TIME = ("simulator", "mechanism", "clik_tracker")
"""Nodes with services that control time. Requests are sent to the first one that is running."""
PLANNER = "bang_bang_planner"
RESPONSE_TIMEOUT = 120.0
"""Wall time for a response of the simulator, s: it may have to compile first."""


class ViewerControls:
    """Sends the inputs of the page to the nodes. Its methods may be called from any thread."""

    def __init__(self, node: Node):
        """Create publishers and clients."""
        self._robot: Robot | None = None
        self._positions: Callable[[], Vector | None] = lambda: None
        client = node.create_client
        self._pause = {name: client(SetBool, f"{name}/pause") for name in NODES_WITH_TIME}
        self._step = {name: client(Trigger, f"{name}/step") for name in NODES_WITH_TIME[:2]}
        self._reset = {name: client(Trigger, f"{name}/reset") for name in NODES_WITH_TIME}
        self._abort = client(Trigger, f"{PLANNER}/abort")
        self._method = client(SetParameters, f"{PLANNER}/set_parameters")
        self._get = client(GetParameters, f"{PLANNER}/get_parameters")
        self._present_method: Future | None = None
        self._set = client(SetParameters, "simulator/set_parameters")
        self._goals = node.create_publisher(JointState, f"{PLANNER}/goal", 10)
        self._targets = node.create_publisher(PoseStamped, "clik_tracker/target_pose", 10)

    def use(self, robot: Robot, positions: Callable[[], Vector | None]) -> None:
        """Set the robot. `positions` returns its joint positions (n,), or None if unknown."""
        self._robot, self._positions = robot, positions

    def controls(self) -> Controls:
        """Return the callbacks of the page."""
        return Controls(
            able=self.able,
            pause=self.pause,
            step=lambda: self._call_first(self._step, Trigger.Request()),
            reset=lambda: self._call_first(self._reset, Trigger.Request()),
            target=self.target,
            goal=self.goal,
            preview=self.preview,
            abort=lambda: self._call(self._abort, Trigger.Request()),
            push=self.push,
            mass=self.mass,
            methods=tuple(PLANNERS),
            method=self.method,
        )

    def able(self) -> frozenset[str]:
        """Return the names of the inputs that a running node accepts."""
        available = {
            "pause": any(client.service_is_ready() for client in self._pause.values()),
            "reset": any(client.service_is_ready() for client in self._reset.values()),
            "target": self._targets.get_subscription_count() > 0,
            "goal": self._goals.get_subscription_count() > 0,
            "push": self._set.service_is_ready(),
            "mass": self._set.service_is_ready(),
        }
        return frozenset(name for name, ready in available.items() if ready)

    def method(self) -> str:
        """Return the planner's method at the time of its first response, or "" before it."""
        if self._present_method is None:
            request = GetParameters.Request(names=["method"])
            self._present_method = self._call(self._get, request)
        future = self._present_method
        response = future and future.done() and future.result()
        return response.values[0].string_value if response and response.values else ""

    def pause(self, paused: bool) -> None:
        """Pause or resume time."""
        self._call_first(self._pause, SetBool.Request(data=paused))

    def target(self, position: Vector, quaternion: Vector) -> None:
        """Send a target pose of the tool in the base frame.

        Args:
            position: Position (3,), m.
            quaternion: Unit quaternion (4,): w, x, y, z.
        """
        message, (w, x, y, z) = PoseStamped(), (float(value) for value in quaternion)
        pose = message.pose
        pose.position.x, pose.position.y, pose.position.z = (float(value) for value in position)
        pose.orientation.w, pose.orientation.x = w, x
        pose.orientation.y, pose.orientation.z = y, z
        self._targets.publish(message)

    def goal(self, method: str, goal: Vector) -> None:
        """Set the planning method and send the goal (n,) after the planner's response.

        The goal is sent at once if the planner's parameter service is not available.
        """
        if self._robot is None:
            return
        message = JointState(name=list(self._robot.joint_names), position=goal.tolist())
        value = Parameter("method", Parameter.Type.STRING, method).to_parameter_msg()
        future = self._call(self._method, SetParameters.Request(parameters=[value]))
        if future is None:
            self._goals.publish(message)
        else:
            future.add_done_callback(lambda _: self._goals.publish(message))

    def preview(self, method: str, goal: Vector) -> tuple[Matrix, str]:
        """Plan from the current positions; return the tool path (m, 3), m, and a summary.

        The path has no points for the method pd.

        Raises:
            ManipDynError: If there is no robot, no joint state or no plan.
        """
        q = self._positions()
        if self._robot is None or q is None:
            raise ManipDynError("no joint states received yet. Start the simulator or the robot.")
        if method == "pd":
            return np.zeros((0, 3)), "method pd has no plan: feedback drives the arm to the goal"
        plan: Plan = PLANNERS[method](self._robot, q, goal)
        return plan_motion(plan).trail, f"{plan.t_final:.4g} s, {plan.status}: {plan.reason}"

    def push(self, efforts: Vector, duration: float) -> None:
        """Disturb the joints with `efforts` (n,), N m or N, for `duration` seconds."""
        values = [
            Parameter("disturbance", Parameter.Type.DOUBLE_ARRAY, efforts.tolist()),
            Parameter("disturbance_duration", Parameter.Type.DOUBLE, float(duration)),
        ]
        request = SetParameters.Request(parameters=[value.to_parameter_msg() for value in values])
        self._call(self._set, request)

    def mass(self, factor: float) -> str:
        """Scale the simulated masses relative to the URDF; return a message after the response.

        Raises:
            ManipDynError: If the simulator is not running, does not respond or rejects the factor.
        """
        value = Parameter("mass_scale", Parameter.Type.DOUBLE, float(factor)).to_parameter_msg()
        future = self._call(self._set, SetParameters.Request(parameters=[value]))
        if future is None:
            raise ManipDynError("the simulator is no longer running.")
        done = Event()
        future.add_done_callback(lambda _: done.set())
        if not done.wait(RESPONSE_TIMEOUT):
            raise ManipDynError(f"no response from the simulator within {RESPONSE_TIMEOUT:g} s.")
        (result,) = future.result().results
        if not result.successful:
            raise ManipDynError(result.reason)
        return f"{factor:g} times the masses of the description"

    def _call_first(self, clients, request) -> None:
        for client in clients.values():
            if client.service_is_ready():
                client.call_async(request)
                return

    def _call(self, client, request):
        """Call a service; return the future of its response, or None if it is not available."""
        return client.call_async(request) if client.service_is_ready() else None
