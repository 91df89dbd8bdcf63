"""States of the planner, and its status on ~/status and /diagnostics."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node

from manip_dyn.planning import Progress
from manip_dyn.ros.diagnostics import ERROR, OK, WARN, Report, State, status_message
from manip_dyn.ros.runtime.execution import ThrottledWarning
from manip_dyn.ros.runtime.subscriptions import LATCHED

NOT_ALONE = "other nodes publish on {topic}: {others}; this node must be the only publisher"
REJECTED, GAVE_UP = "rejected: {reason}", "gave up: {reason}"
PLANNER_STATES = (
    State("waiting", WARN, "no joint states yet on {topic}", "no_joint_states"),
    State("waiting", WARN, "no joint states for {silence:.1f} s", "silence"),
    State("idle", OK, "waiting for a goal"),
    State("idle", WARN, "the arm was reset: {reason}; waiting for a goal", "reset"),
    State("idle", WARN, "the goal is no longer held: {reason}", "silence"),
    State("idle", WARN, "the goal is no longer held: {reason}", "late"),
    State("braking", WARN, "the arm moves: {fastest}; braking before planning", "arm_moves"),
    State("planning", OK, "planning: {method}"),
    State("planning", OK, "planning for the new goal instead: {method}", "new_goal"),
    State("executing", OK, "{beginning}"),
    State("executing", WARN, "the arm left its plan: responding as set by replan", "off_plan"),
    State("executing", OK, "a new goal: the motion to it begins in {lead:g} s", "new_goal"),
    State("executing", OK, "a new goal: the motion to it begins at the current goal", "next_goal"),
    State("reached", OK, "{end}"),
    State("refused", WARN, REJECTED, "no_joint_states"),
    State("refused", WARN, REJECTED, "bad_goal"),
    State("refused", WARN, REJECTED, "arm_moves"),
    State("refused", WARN, REJECTED, "not_alone"),
    State("refused", WARN, REJECTED, "nobody_listens"),
    State("refused", WARN, REJECTED, "out_of_reach"),
    State("refused", WARN, REJECTED, "no_plan"),
    State("refused", WARN, REJECTED, "collision"),
    State("aborted", WARN, "aborted: {reason}", "aborted"),
    State("aborted", WARN, "the goal is not reached: {reason}", "not_reached"),
    State("lost", ERROR, GAVE_UP, "silence"),
    State("lost", ERROR, "gave up: the arm was reset: {reason}", "reset"),
    State("lost", ERROR, GAVE_UP, "late"),
)
"""States on ~/status, published on entry and repeated on /diagnostics."""

PLANNER_OVERLAYS = (
    State("outside_limits", ERROR, "joint outside its limits: {outside}"),
    State("not_alone", WARN, NOT_ALONE),
    State("delayed", WARN, "{delayed}"),
    State("standing", WARN, "time stands still: the same joint state for {seconds:.1f} s"),
)
"""States on /diagnostics that replace a state that is not more severe while they hold."""

TRANSITIONS = {
    "": {"waiting"},
    "waiting": {"idle", "waiting", "refused"},
    "idle": {"planning", "braking", "executing", "refused", "waiting", "aborted", "idle"},
    "planning": {"executing", "planning", "braking", "refused", "aborted", "lost"},
    "braking": {"planning", "braking", "executing", "refused", "aborted", "lost"},
    "executing": {"reached", "executing", "planning", "braking", "refused", "aborted", "lost"},
}
"""States that may follow a state. After a motion, the states of `AT_REST` are like "idle"."""
AT_REST = ("reached", "aborted", "refused", "lost")
TRANSITIONS |= {name: TRANSITIONS["idle"] | {"lost"} for name in AT_REST}

BY_KEY = {(state.name, state.code): state for state in (*PLANNER_STATES, *PLANNER_OVERLAYS)}


class PlannerStatus:
    """Publishes state, code and message on the latched topic ~/status, and logs the message.

    Attributes:
        state: State of the planner.
        code: Code of the last state or rejection, or "".
        values: Named values of the motion.
        dropped: Number of dropped messages.
        report: The latest report.
    """

    report: Report

    def __init__(self, node: Node, hardware: str):
        """Create the publisher; `hardware` is the name of the robot."""
        self._node, self._hardware = node, hardware
        self._publisher = node.create_publisher(DiagnosticStatus, "~/status", LATCHED)
        self.state, self.code, self.dropped = "", "", 0
        self.values: dict[str, object] = {}
        self._progress: dict[str, object] = {}
        self._warn_dropped = ThrottledWarning(node, "dropped: ")

    def enter(self, name: str, code: str = "", remains: str = "", **words: object) -> None:
        """Enter a state of `PLANNER_STATES` and publish its message.

        Args:
            name: Name of the state.
            code: Code of the state.
            remains: State that remains in force after a rejection, or "".
            words: Values of the message.
        """
        row = BY_KEY[name, code]
        self.state, self.code, self._progress = remains or name, code, {}
        values = {"state": self.state, "code": code, "dropped messages": self.dropped}
        self.report = Report(row.level, row.message(**words), {**values, **self.values})
        self._publisher.publish(status_message(self._node, self.report, self._hardware))
        # Two calls, because rclpy binds each line of code to one severity.
        if row.level == OK:
            self._node.get_logger().info(self.report.message)
        else:
            self._node.get_logger().warning(self.report.message)

    def note_progress(self, progress: Progress) -> None:
        """Set the progress in /diagnostics, until the next state. Any thread may call this."""
        self._progress = {
            "planning time [s]": progress.elapsed,
            "best duration so far [s]": progress.duration,
        }

    def update(self, name: str, **words: object) -> None:
        """Update the message of a state that is in force, without publishing it on ~/status."""
        row = BY_KEY.get((self.state, self.code))
        if row is not None and row.name == name:
            self.report = self.report._replace(message=row.message(**words))

    def overlaid(
        self,
        *,
        outside: str = "",
        others: str = "",
        topic: str = "",
        standing: float = 0.0,
        delayed: str = "",
    ) -> Report:
        """Return the latest report, or a current problem that is at least as severe.

        Args:
            outside: Joints outside their limits, or "".
            others: Other nodes that publish on the command topic, or "".
            topic: Name of the command topic.
            standing: Time for which the stamps have not advanced during a motion, s, or 0.
            delayed: Description of a long delay of the control loop, or "".
        """
        problems = {
            "outside_limits": outside,
            "not_alone": others,
            "standing": standing,
            "delayed": delayed,
        }
        row = next((BY_KEY[name, ""] for name, problem in problems.items() if problem), None)
        report = self.report._replace(values={**self.report.values, **self._progress})
        if row is None or row.level < report.level:
            return report
        words = {"outside": outside, "others": others, "topic": topic, "seconds": standing}
        sentence = row.message(**words, delayed=delayed)
        return Report(row.level, f"{sentence} ({self.state})", report.values)

    def drop(self, reason: object) -> None:
        """Count a dropped message and log the reason."""
        self.dropped += 1
        self._warn_dropped(reason)
