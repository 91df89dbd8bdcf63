"""The mechanism node: simulates a mechanism and publishes poses, joint states and markers."""

from __future__ import annotations

import sys
from dataclasses import asdict, dataclass

from geometry_msgs.msg import PoseArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration import METHODS
from manip_dyn.multibody import MechanismSimulation, load_mechanism
from manip_dyn.multibody.model.geometry import JointCoordinates
from manip_dyn.multibody.simulation import RTOL
from manip_dyn.ros.diagnostics import (
    ERROR,
    OK,
    SLOW_SENTENCE,
    WARN,
    RecentOverruns,
    Report,
    State,
    publish_every_second,
)
from manip_dyn.ros.messages.geometry import header
from manip_dyn.ros.messages.markers import Markers, pose_array
from manip_dyn.ros.parameters.common import RecordedParameters, SteppingParameters
from manip_dyn.ros.parameters.declaration import declare, on_change, parameter
from manip_dyn.ros.recorded_topics import await_recorder
from manip_dyn.ros.runtime.execution import announce, rate_summary, run
from manip_dyn.ros.runtime.subscriptions import EVERY_MESSAGE
from manip_dyn.ros.stepper import Stepper, StepperServices


@dataclass(frozen=True)
class MechanismParameters(RecordedParameters, SteppingParameters):
    """Parameters of the mechanism node."""

    control_period: float = parameter(
        0.02, "Time between messages; one ~/step advances by it", "s", 1e-6, 10.0
    )
    mechanism: str = parameter("four_bar", "Name of a shipped mechanism or path of a YAML file")
    integrator: str = parameter(
        "rosenbrock_nystrom",
        "Integration method with an error estimate; docs/integration_methods.md lists them",
        choices=tuple(METHODS),
    )
    rtol: float = parameter(
        RTOL, "Relative tolerance of the independent coordinates and velocities", "", 1e-14, 0.1
    )
    atol: float = parameter(0.0, "Absolute tolerance; 0: equal to rtol", "m and m/s", 0.0, 0.1)
    frame: str = parameter("world", "Frame of poses and markers")


MECHANISM_STATES = (
    State("fault", ERROR, "{fault}; call ~/reset to restart"),
    State("paused", OK, "paused"),
    State("slow", WARN, SLOW_SENTENCE),
    State("overruns", WARN, "recent overruns: {overruns}"),
    State("running", OK, "running"),
)
"""States in order of priority."""


def mechanism_state(
    fault: str = "", overruns: int = 0, paused: bool = False, slow_share: float | None = None
) -> tuple[State, str]:
    """Return the first applicable state of `MECHANISM_STATES` and its message.

    Args:
        fault: Why the simulation cannot continue, or "".
        overruns: Number of recent overruns.
        paused: Whether time is paused.
        slow_share: The real-time share if the simulation is persistently too slow, else None.
    """
    holds = {"fault": fault, "paused": paused, "overruns": overruns, "running": True}
    holds["slow"] = slow_share is not None
    state = next(state for state in MECHANISM_STATES if holds[state.name])
    return state, state.message(fault=fault, overruns=overruns, share=slow_share)


class MechanismNode:
    """Steps a `MechanismSimulation`, and publishes its poses, joint states and markers.

    Services pause, step and reset it.
    """

    name = "mechanism"

    def __init__(self, node: Node):
        """Declare parameters, load the mechanism, compile and start the clock."""
        self.node = node
        self._parameters = parameters = declare(node, MechanismParameters)
        self._mechanism = load_mechanism(parameters.mechanism)
        pace = rate_summary(
            parameters.mode, parameters.control_period, parameters.real_time_factor
        )
        announce(node, str(self._mechanism), pace, f"by {parameters.integrator}")
        self._simulation = MechanismSimulation(
            self._mechanism,
            method=parameters.integrator,
            rtol=parameters.rtol,
            atol=parameters.atol or None,
        )
        self._simulation.advance_to(1e-9)  # compiles, so that the first period is not delayed
        self._markers, self._joints = Markers(self._mechanism), JointCoordinates(self._mechanism)
        self._poses = node.create_publisher(PoseArray, "~/poses", EVERY_MESSAGE)
        self._states = node.create_publisher(JointState, "joint_states", EVERY_MESSAGE)
        self._drawing = node.create_publisher(MarkerArray, "~/markers", 10)
        self._time = _SteppedSimulation(self._simulation)
        self._stepper = Stepper(node, self._time, parameters, self._publish)
        StepperServices(node, self._stepper)
        self._recent_overruns = RecentOverruns()
        publish_every_second(node, self._report, parameters.mechanism)
        on_change(node, parameters, self._use)
        await_recorder(node, parameters.await_recorder)
        self._stepper.start()

    def close(self) -> None:
        """Stop the clock."""
        self._stepper.stop()

    def _use(self, parameters: MechanismParameters) -> None:
        with self._stepper.lock:
            self._parameters = parameters
            self._stepper.use(parameters)

    def _publish(self) -> None:
        stamp, q, v = self._stepper.stamp_ns, self._simulation.q, self._simulation.v
        fixed = header(self._parameters.frame, stamp)
        self._poses.publish(pose_array(self._mechanism, fixed, q))
        position, velocity = self._joints(q, v)
        state = JointState(header=header("", stamp), name=self._joints.names)
        state.position, state.velocity = position.tolist(), velocity.tolist()
        self._states.publish(state)
        self._drawing.publish(self._markers(fixed, q, self._time.time_ns * 1e-9))

    def _report(self) -> Report:
        with self._stepper.lock:
            values = {
                "mechanism": str(self._mechanism),
                "violation of the constraints": self._simulation.violation,
                "integrator": self._parameters.integrator,
                **asdict(self._simulation.statistics),
                "partitions": self._simulation.partitions,
            }
            values = self._stepper.report("", values).values
            overruns = self._recent_overruns(int(str(values["overruns"])))
            stepper = self._stepper
            state, sentence = mechanism_state(
                stepper.fault, overruns, stepper.paused, stepper.slow_share
            )
            return Report(state.level, sentence, {"state": state.name, **values})


class _SteppedSimulation:
    """A simulation of a mechanism that counts time in integer nanoseconds."""

    def __init__(self, simulation: MechanismSimulation):
        self._simulation = simulation
        self.time_ns = 0

    def reset(self) -> None:
        """Return to the initial state."""
        self._simulation.reset()
        self.time_ns = 0

    def advance(self, duration_ns: int) -> None:
        """Advance by `duration_ns` (ns), or raise `ManipDynError` with the reason."""
        self._simulation.advance_to((self.time_ns + duration_ns) * 1e-9)
        if self._simulation.reason:
            raise ManipDynError(self._simulation.reason)
        self.time_ns += duration_ns


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(MechanismNode, args)


if __name__ == "__main__":
    sys.exit(main())
