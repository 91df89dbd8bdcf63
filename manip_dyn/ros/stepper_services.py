"""The services of a node that lets time pass: ~/pause, ~/step, ~/reset, and standard ones."""

from __future__ import annotations

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from manip_dyn.ros.standard_services import StandardServices
from manip_dyn.ros.stepper import Stepper


class StepperServices:
    """Services by which people and programs let time stand still or pass."""

    def __init__(self, node: Node, stepper: Stepper):
        """Offer them, and those of simulation_interfaces where that package is installed."""
        self._stepper = stepper
        node.create_service(Trigger, "~/reset", self._on_reset)
        node.create_service(Trigger, "~/step", self._on_step)
        node.create_service(SetBool, "~/pause", self._on_pause)
        StandardServices.offer(node, stepper)

    def _on_reset(self, _request, response: Trigger.Response) -> Trigger.Response:
        self._stepper.reset()
        response.success, response.message = True, "back at the initial state"
        return response

    def _on_step(self, _request, response: Trigger.Response) -> Trigger.Response:
        refused = self._stepper.step()
        response.success = not refused
        response.message = refused or f"now at {self._stepper.time:.9f} s"
        return response

    def _on_pause(self, request, response: SetBool.Response) -> SetBool.Response:
        self._stepper.pause(request.data)
        response.success, response.message = True, "paused" if request.data else "running"
        return response
