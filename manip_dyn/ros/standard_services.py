"""The services of simulation_interfaces, where that package is installed.

They do what ~/reset, ~/step and ~/pause do, by the names and codes of the standard
(github.com/ros-simulation/simulation_interfaces, 1.5.1). "Stopped" is paused at the start.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rclpy.node import Node

from manip_dyn.ros.stepper import Stepper

MOST_STEPS = 100_000
"""One call of ~/step_simulation keeps the node from anything else while it lasts."""


class StandardServices:
    """One simulated arm or mechanism by the standard's services, under the node's own name."""

    FEATURES = (
        "SIMULATION_RESET",
        "SIMULATION_STATE_GETTING",
        "SIMULATION_STATE_SETTING",
        "SIMULATION_STATE_PAUSE",
        "STEP_SIMULATION_SINGLE",
        "STEP_SIMULATION_MULTIPLE",
    )

    @classmethod
    def offer(cls, node: Node, stepper: Stepper) -> StandardServices | None:
        """Offer the services, or nothing where the package is not installed."""
        try:
            services = import_module("simulation_interfaces.srv")
            messages = import_module("simulation_interfaces.msg")
        except ImportError:
            return None
        return cls(node, stepper, services, messages)

    def __init__(self, node: Node, stepper: Stepper, services: Any, messages: Any):
        """Offer the services by the package's types."""
        self._stepper, self._messages = stepper, messages
        self._state, self._result = messages.SimulationState, messages.Result
        self._set_state = services.SetSimulationState.Response
        for kind, name, answer in (
            (services.GetSimulatorFeatures, "get_simulator_features", self._features),
            (services.GetSimulationState, "get_simulation_state", self._get_state),
            (services.SetSimulationState, "set_simulation_state", self._change_state),
            (services.ResetSimulation, "reset_simulation", self._reset),
            (services.StepSimulation, "step_simulation", self._step),
        ):
            node.create_service(kind, f"~/{name}", answer)

    @property
    def _present(self) -> int:
        if not self._stepper.paused:
            return self._state.STATE_PLAYING
        return self._state.STATE_PAUSED if self._stepper.time else self._state.STATE_STOPPED

    def _done(self, response: Any, code: int | None = None, why: str = "") -> Any:
        response.result.result = self._result.RESULT_OK if code is None else code
        response.result.error_message = why
        return response

    def _features(self, _request: Any, response: Any) -> Any:
        known = self._messages.SimulatorFeatures
        response.features.features = [getattr(known, name) for name in self.FEATURES]
        return response

    def _get_state(self, _request: Any, response: Any) -> Any:
        response.state.state = self._present
        return self._done(response)

    def _change_state(self, request: Any, response: Any) -> Any:
        wanted, state = request.state.state, self._state
        if wanted == self._present:
            why = "the simulation is in this state already"
            return self._done(response, self._set_state.ALREADY_IN_TARGET_STATE, why)
        if wanted not in (state.STATE_PLAYING, state.STATE_PAUSED, state.STATE_STOPPED):
            why = f"state {wanted} cannot be set; expected stopped, playing or paused"
            return self._done(response, self._result.RESULT_FEATURE_UNSUPPORTED, why)
        if wanted == state.STATE_PAUSED and self._present == state.STATE_STOPPED:
            return self._done(response)  # it stands still at the start, whatever that is called
        self._stepper.pause(wanted != state.STATE_PLAYING)
        if wanted == state.STATE_STOPPED:
            self._stepper.reset()
        return self._done(response)

    def _reset(self, request: Any, response: Any) -> Any:
        together = request.SCOPE_TIME | request.SCOPE_STATE
        if request.scope != request.SCOPE_DEFAULT and request.scope & together != together:
            why = f"scope is {request.scope}; expected time and state together, or all"
            return self._done(response, self._result.RESULT_FEATURE_UNSUPPORTED, why)
        self._stepper.reset()
        return self._done(response)

    def _step(self, request: Any, response: Any) -> Any:
        if request.steps > MOST_STEPS:
            why = f"steps is {request.steps}; expected at most {MOST_STEPS} in a call"
            return self._done(response, self._result.RESULT_OPERATION_FAILED, why)
        for _ in range(request.steps):
            why = self._stepper.step()
            if why:
                return self._done(response, self._result.RESULT_OPERATION_FAILED, why)
        return self._done(response)
