"""Controls of the viewer page: services, topics and parameters of the nodes."""

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
"""Who has services for time; the first that is there is asked."""
PLANNER = "bang_bang_planner"
ANSWER_TIMEOUT = 120.0
"""Wall time after which the simulator is taken to be gone, s: it may have to compile first."""


class ViewerControls:
    """Says what the page wants said; safe to call from the page's threads."""

    def __init__(self, node: Node):
        """Make publishers and clients."""
        self._robot: Robot | None = None
        self._positions: Callable[[], Vector | None] = lambda: None
        client = node.create_client
        self._pause = {name: client(SetBool, f"{name}/pause") for name in NODES_WITH_TIME}
        self._step = {name: client(Trigger, f"{name}/step") for name in NODES_WITH_TIME[:2]}
        self._reset = {name: client(Trigger, f"{name}/reset") for name in NODES_WITH_TIME}
        self._abort = client(Trigger, f"{PLANNER}/abort")
        self._method = client(SetParameters, f"{PLANNER}/set_parameters")
        self._own = client(GetParameters, f"{PLANNER}/get_parameters")
        self._asked: Future | None = None
        self._set = client(SetParameters, "simulator/set_parameters")
        self._goals = node.create_publisher(JointState, f"{PLANNER}/goal", 10)
        self._targets = node.create_publisher(PoseStamped, "clik_tracker/target_pose", 10)

    def know(self, robot: Robot, positions: Callable[[], Vector | None]) -> None:
        """Take the robot that was heard; `positions` returns where its joints are (n,)."""
        self._robot, self._positions = robot, positions

    def controls(self) -> Controls:
        """Return what the page may tell."""
        return Controls(
            able=self.able,
            pause=self.pause,
            step=lambda: self._ask(self._step, Trigger.Request()),
            reset=lambda: self._ask(self._reset, Trigger.Request()),
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
        """Return what somebody listens to now."""
        there = {
            "pause": any(each.service_is_ready() for each in self._pause.values()),
            "reset": any(each.service_is_ready() for each in self._reset.values()),
            "target": self._targets.get_subscription_count() > 0,
            "goal": self._goals.get_subscription_count() > 0,
            "push": self._set.service_is_ready(),
            "mass": self._set.service_is_ready(),
        }
        return frozenset(name for name, ready in there.items() if ready)

    def method(self) -> str:
        """Return the planner's method when it was first there; empty before its answer."""
        if self._asked is None:
            self._asked = self._call(self._own, GetParameters.Request(names=["method"]))
        answer = self._asked and self._asked.done() and self._asked.result()
        return answer.values[0].string_value if answer and answer.values else ""

    def pause(self, paused: bool) -> None:
        """Let time stand still, or go on."""
        self._ask(self._pause, SetBool.Request(data=paused))

    def target(self, place: Vector, quaternion: Vector) -> None:
        """Send the tool to a position (3,), m, and quaternion (4,): w, x, y, z, base frame."""
        message, (w, x, y, z) = PoseStamped(), (float(each) for each in quaternion)
        pose = message.pose
        pose.position.x, pose.position.y, pose.position.z = (float(each) for each in place)
        pose.orientation.w, pose.orientation.x = w, x
        pose.orientation.y, pose.orientation.z = y, z
        self._targets.publish(message)

    def goal(self, method: str, goal: Vector) -> None:
        """Choose how to plan; send the goal (n,) once the planner has it."""
        if self._robot is None:
            return
        message = JointState(name=list(self._robot.joint_names), position=goal.tolist())
        chosen = Parameter("method", Parameter.Type.STRING, method).to_parameter_msg()
        asked = self._call(self._method, SetParameters.Request(parameters=[chosen]))
        if asked is None:
            self._goals.publish(message)
        else:
            asked.add_done_callback(lambda _: self._goals.publish(message))

    def preview(self, method: str, goal: Vector) -> tuple[Matrix, str]:
        """Plan from where the joints are; return where the tool would go (m, 3), m, and a word."""
        q = self._positions()
        if self._robot is None or q is None:
            raise ManipDynError("no joint states yet; expected the arm to be heard")
        if method == "pd":
            return np.zeros((0, 3)), "feedback alone leads there: there is no plan to draw"
        plan: Plan = PLANNERS[method](self._robot, q, goal)
        return plan_motion(plan).trail, f"{plan.t_final:.4g} s, {plan.status}: {plan.reason}"

    def push(self, efforts: Vector, duration: float) -> None:
        """Push the joints by efforts (n,), N m or N, for a time, s."""
        values = [
            Parameter("disturbance", Parameter.Type.DOUBLE_ARRAY, efforts.tolist()),
            Parameter("disturbance_duration", Parameter.Type.DOUBLE, float(duration)),
        ]
        request = SetParameters.Request(parameters=[each.to_parameter_msg() for each in values])
        self._call(self._set, request)

    def mass(self, factor: float) -> str:
        """Make the simulated masses so many times those of the URDF; wait until it is done."""
        value = Parameter("mass_scale", Parameter.Type.DOUBLE, float(factor)).to_parameter_msg()
        asked = self._call(self._set, SetParameters.Request(parameters=[value]))
        if asked is None:
            raise ManipDynError("there is no simulator any more; expected one that runs")
        done = Event()
        asked.add_done_callback(lambda _: done.set())
        if not done.wait(ANSWER_TIMEOUT):
            raise ManipDynError(
                f"no answer within {ANSWER_TIMEOUT:g} s; expected the simulator to run"
            )
        (answer,) = asked.result().results
        if not answer.successful:
            raise ManipDynError(answer.reason)
        return f"{factor:g} times the masses of the description"

    def _ask(self, clients, request) -> None:
        """Ask the first of them that is there."""
        for client in clients.values():
            if client.service_is_ready():
                client.call_async(request)
                return

    def _call(self, client, request):
        """Return the answer to come; None if nobody is there."""
        return client.call_async(request) if client.service_is_ready() else None
