"""Diagnostics of the simulator: the rows of the table in docs/nodes.md."""

from pathlib import Path

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.ros import ERROR, HELD_SENTENCE, OK, WARN, ArmFacts, beyond_limits, condition

FAULT = ArmFacts(fault="the simulation of 'rr' diverged")
OUTSIDE = ArmFacts(beyond=("W1 0.3 rad beyond its upper limit",))
STOP = OUTSIDE._replace(at_stops=True)
FAST = ArmFacts(too_fast=("W1 at 24.3 rad/s (limit 20)",))
TWICE = ArmFacts(namesakes=2)
TWO = ArmFacts(commanders=("/planner", "/tracker"))
LOST = ArmFacts(handover="no command for 0.5 s")
HOLDING = ArmFacts(holding=True, commanders=("/controller_manager",))
PAUSED = ArmFacts(paused=True)
SLOW = ArmFacts(slow_share=0.664)
OVERRUNS = ArmFacts(overruns=1)

ROWS = [
    (FAULT, "fault", ERROR, "the simulation of 'rr' diverged; call ~/reset to restart"),
    (OUTSIDE, "outside_limits", ERROR, "outside its limits: W1 0.3 rad beyond its upper limit"),
    (FAST, "too_fast", ERROR, "too fast: W1 at 24.3 rad/s (limit 20)"),
    (TWICE, "second_simulator", WARN, "2 nodes have the name of this simulator"),
    (TWO, "second_commander", WARN, "2 publishers of commands: /planner, /tracker"),
    (LOST, "lost_commander", WARN, "no command for 0.5 s: brake"),
    (
        ArmFacts(holding=True),
        "lost_commander",
        WARN,
        f"no node publishes commands: {HELD_SENTENCE}",
    ),
    (STOP, "at_stop", WARN, "at its stop: W1 0.3 rad beyond its upper limit"),
    (PAUSED, "paused", OK, "paused"),
    (SLOW, "slow", WARN, "slower than real time: real_time_share 0.66"),
    (OVERRUNS, "overruns", WARN, "recent overruns: 1"),
    (ArmFacts(commanded=False), "waiting", OK, "no command yet: brake"),
    (HOLDING, "holding", OK, f"no new command: {HELD_SENTENCE}"),
    (ArmFacts(), "running", OK, "running"),
]
NAMES = {OK: "OK", WARN: "WARN", ERROR: "ERROR"}


@pytest.mark.parametrize(("situation", "state", "level", "sentence"), ROWS, ids=lambda x: str(x))
def test_a_situation_has_a_state_a_level_and_a_sentence(situation, state, level, sentence):
    assert condition(situation) == (state, level, sentence)


def test_several_publishers_do_not_hide_a_brake():
    """Regression: after kill -9 and a restart, only publishers were reported, all of them dead."""
    sentence = condition(LOST._replace(commanders=TWO.commanders)).sentence
    assert sentence == "2 publishers of commands: /planner, /tracker; no command for 0.5 s: brake"


def test_the_worst_state_is_reported():
    """Each row has priority over all rows below it. Regression: overruns hid a pause."""
    everything = ArmFacts(commanded=False)
    for situation, state, _, _ in reversed(ROWS[:11]):
        changes = {
            key: value
            for key, value in situation._asdict().items()
            if value != ArmFacts()._asdict()[key]
        }
        everything = everything._replace(**changes)
        if state == "outside_limits":
            everything = everything._replace(at_stops=False)
        assert condition(everything).state == state


def test_the_table_is_the_code():
    page = Path(__file__).parents[2] / "docs" / "nodes.md"
    cells = [line.split("|")[1:3] for line in page.read_text().splitlines() if "| `" in line]
    table = [(state.strip(" `"), level.strip()) for state, level in cells]
    for row in ROWS:
        assert (row[1], NAMES[row[2]]) in table


def test_joints_beyond_their_limits_are_named_with_amount_side_and_unit():
    robot = md.load_robot("cylindrical")
    violations = beyond_limits(robot, np.array([-3.2, 0.31]))
    first, second = robot.joint_names
    assert violations[first][0] == pytest.approx(3.2 - np.pi)
    assert violations[first][1] == f"{first} 0.0584 rad beyond its lower limit"
    assert violations[second][1] == f"{second} 0.01 m beyond its upper limit"
    assert beyond_limits(robot, np.array([0.0, 0.3])) == {}
    assert beyond_limits(robot, robot.q_max + 1e-12) == {}  # regression: a warning at 4e-16 rad
