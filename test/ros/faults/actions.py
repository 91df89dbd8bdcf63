"""Faults of clients of the simulator's action, which requires the package control_msgs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from action_msgs.msg import GoalStatus
from faults.case import OK, Case
from faults.graph import REST
from faults.systems import Commanded
from trajectory_goals import Client, trajectory

JOINTS, REST_AT = ["shoulder", "elbow"], [0.7, 0.5]
QUICKLY = trajectory(JOINTS, (1.0, REST_AT, [0.0, 0.0]))
SLOWLY = trajectory(JOINTS, (60.0, [-1.0, 1.0], [0.0, 0.0]))
COUNT = 100
"""Messages of a storm."""


class ArmWithAction(Commanded):
    """A simulator whose commander may also be an action client."""

    def start(self):
        """Start the simulator and the client."""
        import control_msgs.action  # noqa: F401  (its absence is reported as such)

        super().start()
        self.client = Client(self.ros, "simulator/follow_joint_trajectory")
        self.request = self.client.kind.Goal

    def send(self, message):
        """Send a goal that replaces the commands of the probe; return its handle."""
        self.commanding = False
        self.wait(0.1)  # the last command has arrived
        return self.client.send(message)

    def moves(self):
        """Wait until the arm moves."""
        self.until(lambda: self.speed > 10 * REST, "the arm does not move")

    def all_of(self, futures, what):
        """Wait until all futures are done; return their results."""
        self.until(lambda: all(future.done() for future in futures), what)
        return [future.result() for future in futures]

    def statuses(self, handles):
        """Return how often each status is the result of an accepted goal, by name."""
        results = [handle.get_result_async() for handle in handles if handle.accepted]
        codes = [result.status for result in self.all_of(results, "a goal has no result")]
        names = ("SUCCEEDED", "ABORTED", "CANCELED")
        counts = {name: codes.count(getattr(GoalStatus, f"STATUS_{name}")) for name in names}
        assert sum(counts.values()) == len(handles), f"{len(handles)} goals: {counts}"
        return ", ".join(f"{name} {count}" for name, count in counts.items())


def storm_of_goals(system):
    """Send 100 goals at once; each must be answered and end."""
    system.send(SLOWLY)
    goal = system.request(trajectory=QUICKLY)
    answers = [system.client.client.send_goal_async(goal) for _ in range(COUNT)]
    return system.statuses(system.all_of(answers, "a goal has no answer"))


def storm_of_cancels(system):
    """Cancel a goal 100 times at once during its motion; each request must be answered."""
    handle = system.send(SLOWLY)
    system.moves()
    requests = [handle.cancel_goal_async() for _ in range(COUNT)]
    answers = system.all_of(requests, "a cancel has no answer")
    assert sum(len(answer.goals_canceling) for answer in answers) >= 1
    return system.statuses([handle])


def goals_with_cancels(system):
    """Send 50 goals and cancel each as soon as it is accepted."""
    handles = []
    for _ in range(COUNT // 2):
        handle = system.send(SLOWLY) if not handles else system.client.send(SLOWLY)
        handles.append(handle)
        handle.cancel_goal_async()
    return system.statuses(handles)


def paused(system):
    """Pause for a second, longer than the command timeout, during a goal."""
    handle = system.send(QUICKLY)
    system.moves()
    system.pause()
    system.wait(1.0)
    assert not system.client.result.done()
    system.pause(False)
    return system.statuses([handle])


def reset(system):
    """Reset the simulator during a goal."""
    handle = system.send(SLOWLY)
    system.moves()
    system.reset()
    return system.statuses([handle])


def too_fast(system):
    """Send a goal of 200 rad/s; it must be rejected."""
    message = trajectory(JOINTS, (0.01, np.subtract(REST_AT, 2.0).tolist()))
    assert not system.client.send(message).accepted


def _case(name, done, do, words, *end):
    return Case(name, "action", done, do, "simulator", *(end or ("running", OK)), words)


CASES = tuple(
    replace(case, by_hand=True)
    for case in (
        _case("storm_of_action_goals", "100 action goals at once", storm_of_goals,
              "SUCCEEDED 1, ABORTED 99, CANCELED 0"),
        _case("storm_of_cancels", "100 requests to cancel an action goal at once, during its "
              "motion", storm_of_cancels, "SUCCEEDED 0, ABORTED 0, CANCELED 1"),
        _case("action_goals_with_cancels", "50 action goals, each canceled when accepted",
              goals_with_cancels, "SUCCEEDED 0"),
        _case("pause_during_an_action_goal", "~/pause for a second during an action goal", paused,
              "SUCCEEDED 1"),
        _case("reset_during_an_action_goal", "~/reset during an action goal", reset,
              "SUCCEEDED 0, ABORTED 1", "waiting", OK),
        replace(_case("fast_action_goal", "an action goal of 200 rad/s", too_fast, "running"),
                logged=("rejected", "speed of joint"), ends="following"),
    )
)  # fmt: skip
