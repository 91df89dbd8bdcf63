"""The tables of states in docs/nodes.md: nodes report each row in its situation."""

from pathlib import Path

import numpy as np
import pytest
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticStatus
from harness import LATCHED
from std_msgs.msg import Header

import manip_dyn as md
from manip_dyn.ros import (
    ERROR,
    MECHANISM_STATES,
    MONITOR_STATES,
    OK,
    PLANNER_OVERLAYS,
    PLANNER_STATES,
    TRACKER_STATES,
    WARN,
    PlannerStatus,
    Progress,
    RobotFrames,
    TargetChecks,
    TrackerFacts,
    diagnostics,
    fastest_joint,
    joints_outside_limits,
    mechanism_state,
    monitor_report,
    state_of,
    state_rows,
)

PAGE = (Path(__file__).parents[2] / "docs" / "nodes.md").read_text().splitlines()
FACTS = [
    (TrackerFacts(fault=True, silence=1.0), "fault", ERROR, "NaN: call ~/reset"),
    (
        TrackerFacts(waiting="/joint_states"),
        "waiting",
        WARN,
        "no joint states yet on /joint_states",
    ),
    (TrackerFacts(silence=1.25, paused=True), "silent", WARN, "no joint states for 1.2 s"),
    (
        TrackerFacts(outside="S1 at 3 rad (-1 to 1)", unheard="/c"),
        "outside_limits",
        ERROR,
        "joint outside its limits: S1 at 3 rad (-1 to 1)",
    ),
    (TrackerFacts(unheard="/c", topic="/c"), "unheard", WARN, "no node subscribes to /c"),
    (TrackerFacts(late="too late", braking="x"), "late", ERROR, "too late: braking until ~/reset"),
    (TrackerFacts(braking="joint 'S1' at 200 rad/s"), "braking", WARN, "joint 'S1' at 200 rad/s"),
    (
        TrackerFacts(others="/a, /b", topic="/c"),
        "not_alone",
        WARN,
        "other nodes publish on /c: /a, /b; this node must be the only publisher",
    ),
    (TrackerFacts(delayed="efforts act late"), "delayed", WARN, "efforts act late"),
    (
        TrackerFacts(approaching="0.1 m and 0 rad"),
        "approaching",
        WARN,
        "path: 0.1 m and 0 rad away",
    ),
    (
        TrackerFacts(unknown="reduced gains", off_path="out of reach"),
        "unknown_delay",
        WARN,
        "reduced gains",
    ),
    (TrackerFacts(off_path="off the path by 1 m"), "off_path", WARN, "off the path by 1 m"),
    (TrackerFacts(overruns=1), "overruns", WARN, "recent overruns: 1"),
    (TrackerFacts(paused=True), "paused", OK, "paused"),
    (
        TrackerFacts(standing=3.0),
        "standing",
        OK,
        "time stands still: the same joint state for 3.0 s",
    ),
    (TrackerFacts(), "tracking", OK, "tracking"),
]


@pytest.mark.parametrize(("facts", "name", "level", "words"), FACTS, ids=lambda x: str(x)[:20])
def test_a_tracker_reports_its_worst_state(facts, name, level, words):
    state, sentence = state_of(facts)
    assert (state.name, state.level) == (name, level)
    assert words in sentence


def test_every_state_of_the_tracker_is_tested():
    assert [name for _, name, _, _ in FACTS] == [state.name for state in TRACKER_STATES]


MECHANISM = [
    ({"fault": "it fell apart", "overruns": 2}, "fault", ERROR, "it fell apart; call ~/reset"),
    ({"overruns": 2, "paused": True, "slow_share": 0.5}, "paused", OK, "paused"),
    (
        {"overruns": 2, "slow_share": 0.5},
        "slow",
        WARN,
        "slower than real time: real_time_share 0.50",
    ),
    ({"overruns": 2}, "overruns", WARN, "recent overruns: 2"),
    ({}, "running", OK, "running"),
]


@pytest.mark.parametrize(("facts", "name", "level", "words"), MECHANISM)
def test_a_mechanism_reports_its_worst_state(facts, name, level, words):
    state, sentence = mechanism_state(**facts)
    assert (state.name, state.level) == (name, level)
    assert words in sentence


MONITOR = [
    (None, 0.0, "waiting", WARN, "no messages yet on /joint_states"),
    (10.0, 0.5, "silent", WARN, "no messages on /joint_states for 2.5 s"),
    (12.0, 0.5, "measuring", OK, "measuring: 50 % of the run"),
]


@pytest.mark.parametrize(("received_at", "fraction", "name", "level", "words"), MONITOR)
def test_a_monitor_reports_its_worst_state(received_at, fraction, name, level, words):
    progress = Progress()
    progress.received_at, progress.fraction = received_at, fraction
    report = monitor_report("/joint_states", progress, now=12.5)
    assert (report.level, report.message) == (level, words)
    assert report.values["state"] == name


def test_every_state_of_mechanism_and_monitor_is_tested():
    assert [row[1] for row in MECHANISM] == [state.name for state in MECHANISM_STATES]
    assert [row[2] for row in MONITOR] == [state.name for state in MONITOR_STATES]


def test_an_overrun_is_reported_for_several_seconds(monkeypatch):
    """Regression: on a loaded machine OK and WARN alternated every second."""
    monkeypatch.setattr(diagnostics, "OVERRUN_WINDOW", 10.0)
    recent = diagnostics.RecentOverruns()
    assert [recent(total, now) for now, total in enumerate([0, 1, 1, 1, 3])] == [0, 1, 1, 1, 3]
    assert [recent(3, now) for now in (11.0, 11.5, 14.0, 14.5)] == [3, 2, 2, 0]
    assert recent(0, 15.0) == 0  # the count restarts after a reset
    assert recent(1, 16.0) == 1


@pytest.mark.parametrize(
    "states",
    [TRACKER_STATES, PLANNER_STATES, PLANNER_OVERLAYS, MECHANISM_STATES, MONITOR_STATES],
    ids=["tracker", "planner", "over", "mechanism", "monitor"],
)
def test_the_page_has_the_rows(states):
    assert [row for row in state_rows(states) if row not in PAGE] == []


def test_no_row_of_the_page_has_a_placeholder():
    assert [line for line in PAGE if line.startswith("|") and "{" in line] == []


WORDS = {
    "topic": "/t",
    "silence": 2.0,
    "reason": "because",
    "beginning": "executing: pd",
    "end": "reached the goal",
    "fastest": "joint 'S1' at 2 rad/s",
    "method": "pd",
    "lead": 0.3,
}


def test_a_planner_publishes_each_of_its_states(ros):
    """Every row is published and latched, with the level of the table."""
    status = PlannerStatus(ros.probe, "pa10")
    messages = ros.listen(DiagnosticStatus, "probe/status", LATCHED)
    for row in PLANNER_STATES:
        status.enter(row.name, row.code, **WORDS)
        ros.until(lambda: messages, f"no status {row}")
        message = messages.pop()
        values = {item.key: item.value for item in message.values}
        assert (message.level, values["state"], values["code"]) == (row.level, row.name, row.code)
        assert message.message == row.sentence.format(**WORDS)
        assert message.hardware_id == "pa10"
    rejected = next(row.name for row in PLANNER_STATES if row.code == "not_alone")
    status.enter(rejected, "not_alone", "executing", reason="because; the motion continues")
    assert (status.state, status.report.level) == ("executing", WARN)


def test_a_worse_condition_overrides_the_state_in_diagnostics(ros):
    status = PlannerStatus(ros.probe, "pa10")
    status.enter("reached", end="reached the goal")
    assert status.overlaid().level == OK
    assert status.overlaid(others="/a", topic="/c").message == (
        "other nodes publish on /c: /a; this node must be the only publisher (reached)"
    )
    assert "efforts act late" in status.overlaid(delayed="efforts act late").message
    assert "the same joint state for 2.0 s" in status.overlaid(standing=2.0).message
    outside = status.overlaid(outside="S1 at 3 rad (-1 to 1)", others="/a")
    assert outside.level == ERROR
    assert "joint outside its limits: S1 at 3 rad" in outside.message
    status.enter("lost", "silence", reason="no joint states for 2 s")
    assert "gave up" in status.overlaid(others="/a", topic="/c").message


class Clocked:
    """A node with only a clock, at 100 s."""

    nanoseconds = 100_000_000_000

    def get_clock(self):
        return self

    def now(self):
        return self


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.0, ""), (99.9, ""), (99.7, "got a stamp 0.100 s before"), (99.0, "1.000 s old")],
)
def test_a_target_from_before_a_reset_is_dropped(seconds, words):
    checks = TargetChecks(Clocked(), "base_link", 0.5, lambda: "")
    checks.origin_ns = 99_800_000_000
    stamp = Time(sec=int(seconds), nanosec=round(seconds % 1 * 1e9))
    header = Header(frame_id="tool0", stamp=stamp)
    frames = RobotFrames(md.load_robot("pa10"), "base_link")
    kind, sentence = checks(header, [0.0] * 6, frames)
    assert kind == ("stamp" if words else "")
    assert words in sentence


def test_sentences_name_joints_units_and_limits():
    robot = md.load_robot("pa10")
    beyond = np.where(np.arange(7) == 2, robot.q_max + 0.1, 0.0)
    name = robot.joint_names[2]
    assert joints_outside_limits(robot, np.zeros(7)) == ""
    assert joints_outside_limits(robot, beyond).startswith(f"{name} at {beyond[2]:.4g} rad (")
    assert fastest_joint(robot, np.array([0.0, -3.0, 1, 0, 0, 0, 0])) == (
        f"joint '{robot.joint_names[1]}' at 3 rad/s"
    )
