"""The CLIK tracker node: the tool of an arm follows a path or targets from topics."""

from __future__ import annotations

import sys
import threading
from collections.abc import Collection
from dataclasses import replace

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from manip_dyn.clik import TrackingSample
from manip_dyn.clik.diagnostics import TrackingDiagnostics
from manip_dyn.clik.joint_reference import JointReference
from manip_dyn.clik.paths.targets import SmoothTarget
from manip_dyn.collision import Scene
from manip_dyn.core.checks import Vector
from manip_dyn.ros import diagnostics
from manip_dyn.ros.parameters.clik_tracker import (
    ClikTrackerParameters,
    invalid_combination,
    settings_from,
    tracker_from,
)
from manip_dyn.ros.parameters.common import prepare, robot_from, scene_from
from manip_dyn.ros.parameters.declaration import declare, declare_joints, on_change
from manip_dyn.ros.recorded_topics import await_recorder
from manip_dyn.ros.robot_topics import publish_description, with_description
from manip_dyn.ros.runtime.execution import (
    announce,
    rate_summary,
    robot_summary,
    run,
)
from manip_dyn.ros.runtime.subscriptions import REQUESTS
from manip_dyn.ros.scene_markers import SceneMarkers
from manip_dyn.ros.scene_topic import SceneTopic
from manip_dyn.ros.targets import RobotFrames
from manip_dyn.ros.tracker.modes import Callbacks, DynamicMode, KinematicMode, Mode
from manip_dyn.ros.tracker.targets import LiveTarget, TargetChecks
from manip_dyn.ros.tracker.topics import WITHOUT_ERRORS, TrackerFacts, TrackerTopics, state_of

TRAIL_EVERY = 0.2
"""Time between messages on ~/actual_path by the node's clock, s."""


class ClikTrackerNode:
    """Connects the tracker's joint reference to its mode, targets, topics and services."""

    name = "clik_tracker"

    def __init__(self, node: Node):
        """Declare parameters, load the robot, compute the initial posture and start the mode."""
        self.node = node
        self._parameters = parameters = declare(node, ClikTrackerParameters)
        self._robot = robot_from(with_description(node, parameters))
        declare_joints(node, ClikTrackerParameters, self._robot.n)
        pace = rate_summary(parameters.mode, parameters.step, parameters.real_time_factor)
        announce(node, robot_summary(self._robot), pace, f"path {parameters.path}")
        prepare(self._robot, "forward_kinematics", "inverse_dynamics")
        tracker = tracker_from(parameters, self._robot)
        self._path, self._reference = tracker.path, JointReference(tracker)
        axes = tracker.settings.controlled
        self._watch = TrackingDiagnostics(self._robot, self._path, parameters.tolerance, axes)
        frame = parameters.base_frame or self._robot.base
        self._topics = TrackerTopics(node, frame, parameters.path_length)
        publish_description(node, self._robot)
        scene = scene_from(parameters)
        self._markers = scene and SceneMarkers(node, self._robot, scene, self._positions)
        self._scene_topic = scene and SceneTopic(
            node, self._robot, scene, self._positions, self.use_scene
        )
        self._lock = threading.RLock()
        self._paused, self._steps, self._reported = False, 0, ""
        self._sample: TrackingSample | None = None
        self._target: LiveTarget | None = None
        calls = Callbacks(self._begin, self._before_step, self._after_step, self._lock)
        mode: type[Mode] = DynamicMode if parameters.mode == "dynamic" else KinematicMode
        self._mode = mode(node, self._reference, parameters, calls)
        self._target = self._live_target(frame)
        node.create_service(Trigger, "~/reset", self._on_reset, qos_profile=REQUESTS)
        node.create_service(SetBool, "~/pause", self._on_pause, qos_profile=REQUESTS)
        diagnostics.publish_every_second(node, self._report, self._robot.name)
        node.create_timer(TRAIL_EVERY, self._publish_trail)
        if self._markers:
            self._markers.start()
        on_change(node, parameters, self._use, self._problem)
        await_recorder(node, parameters.await_recorder)
        self._mode.start()

    def close(self) -> None:
        """Stop the clock of the kinematic mode or the subscription of the dynamic mode."""
        if self._markers:
            self._markers.close()
        self._mode.stop()

    def use_scene(self, scene: Scene) -> None:
        """Consider other objects around the arm from now on, and publish them."""
        with self._lock:
            self._reference.follower.scene = scene
        if self._markers:
            self._markers.use(scene)

    def _positions(self) -> Vector:
        with self._lock:
            return self._mode.positions

    def _live_target(self, frame: str) -> LiveTarget | None:
        if not isinstance(self._path, SmoothTarget):
            return None
        timeout = self._parameters.command_timeout
        checks = TargetChecks(self.node, frame, timeout, self._mode.early)
        frames = RobotFrames(self._robot, frame)
        return LiveTarget(
            self.node, self._path, frames, checks, self._lock, lambda: self._mode.positions
        )

    # ------------------------------------------------------------------- calls
    def _begin(self, origin_ns: int) -> None:
        self._watch.begin()
        self._steps, self._sample = 0, None
        if self._target is not None:
            self._target.begin(origin_ns)
        self._topics.begin(self._path, origin_ns, self._parameters.step)

    def _before_step(self) -> None:
        if self._target is not None:
            self._target.at(self._reference.sample.path_time)

    def _after_step(self, stamp: int, sample: TrackingSample) -> None:
        if self._steps % self._parameters.publish_every == 0:
            self._topics.publish(stamp, sample.desired, sample.actual, sample.error)
        self._steps += 1
        self._watch.look(sample, self._parameters.gain)
        self._sample = sample
        while self._watch.news:
            self.node.get_logger().warning(self._watch.news.pop(0))

    def _publish_trail(self) -> None:
        with self._lock:
            self._topics.publish_trail()

    # ------------------------------------------------- services and parameters
    def _on_reset(self, _request, response: Trigger.Response) -> Trigger.Response:
        with self._lock:
            response.message = self._mode.restart()
        response.success = True
        return response

    def _on_pause(self, request, response: SetBool.Response) -> SetBool.Response:
        with self._lock:
            self._paused = request.data
            self._mode.pause(request.data)
            if self._target is not None:
                self._target.halt()
        response.success, response.message = True, "paused" if request.data else "running"
        return response

    def _problem(self, parameters: ClikTrackerParameters, _changed: Collection[str]) -> str:
        return invalid_combination(parameters, self._robot)

    def _use(self, parameters: ClikTrackerParameters) -> None:
        with self._lock:
            self._parameters = parameters
            self._reference.follower.settings = settings = settings_from(parameters)
            self._watch.controlled = settings.controlled
            self._mode.use(parameters)

    # ------------------------------------------------------------------ report
    def _report(self) -> diagnostics.Report:
        with self._lock:
            state, sentence = state_of(self._facts())
            if state.name == "not_alone" != self._reported:
                self.node.get_logger().warning(sentence)
            self._reported = state.name
            values: dict[str, object] = {"state": state.name, "mode": self._parameters.mode}
            if state.name not in WITHOUT_ERRORS and self._sample is not None:
                values |= self._watch.values(self._sample)
            if state.name not in ("waiting", "silent"):
                values |= self._mode.report()
                values |= diagnostics.pacing_values(self._mode.statistics())
            if self._target is not None:
                values["dropped targets"] = self._target.dropped
            return diagnostics.Report(state.level, sentence, values)

    def _facts(self) -> TrackerFacts:
        facts = self._mode.facts()
        if facts.unheard or facts.braking or facts.approaching:
            self._sample = None  # the last sample is from before the interruption
        excess = self._watch.excess()
        off_path = "" if self._sample is None else self._watch.sentence(self._sample) or excess
        fault = bool(self._reference.follower.status)
        return replace(facts, fault=fault, off_path=off_path, paused=self._paused)


def main(args: list[str] | None = None) -> int:
    """Run the node."""
    return run(ClikTrackerNode, args)


if __name__ == "__main__":
    sys.exit(main())
