"""Nodes under fault: each case of the table of docs/fault_cases.md."""

import json
import math
from contextlib import contextmanager
from pathlib import Path

import pytest
from faults.matrix import CASES, SYSTEMS
from faults.page import BEGIN, END, table

import manip_dyn as md

STOP_DEPTH = 0.02
"""Largest depth of a joint in its stop (docs/reliability.md), rad."""
TINY = 1e-9
"""Energy error by rounding, J."""
TESTED = sorted(
    (case for case in CASES if not case.by_hand), key=lambda c: [*SYSTEMS].index(c.system)
)


@pytest.fixture(scope="module")
def system():
    """Return a context manager of the system with a name; one runs at a time."""
    running = {}

    @contextmanager
    def get(name):
        if name not in running:
            close()
            running[name] = SYSTEMS[name]().__enter__()
        try:
            yield running[name]
        except BaseException:
            close()
            raise

    def close():
        while running:
            running.popitem()[1].__exit__()

    yield get
    close()


@pytest.mark.parametrize("case", TESTED, ids=lambda case: case.name)
def test_a_fault_is_reported_and_the_arm_ends_at_rest_or_following(system, case):
    with system(case.system) as graph:
        outcome = graph.outcome(case)
    assert outcome.beyond <= STOP_DEPTH
    assert outcome.speed <= graph.robot.v_max.max()
    assert outcome.rise <= TINY


DOCS = Path(md.__file__).parents[1] / "docs"
HINT = "run python test/ros/record_faults.py docs"


@pytest.mark.skipif(not DOCS.is_dir(), reason="not a checkout")
def test_the_page_has_a_row_of_the_recorded_outcome_of_every_case():
    rows = json.loads((DOCS / "reliability.json").read_text())
    assert [row["case"] for row in rows] == [case.name for case in CASES], HINT
    for row, case in zip(rows, CASES, strict=True):
        assert (row["state"], row["level"], row["ends"]) == (case.state, case.level, case.ends), (
            HINT
        )
        assert row["beyond"] <= STOP_DEPTH
        assert row["rise"] <= TINY
    page = (DOCS / "fault_cases.md").read_text(encoding="utf-8")
    assert page.split(BEGIN)[1].split(END)[0] == table(rows), HINT


@pytest.mark.skipif(not DOCS.is_dir(), reason="not a checkout")
def test_an_arm_brakes_at_the_end_of_the_last_command_of_a_dead_commander():
    for row in json.loads((DOCS / "kills.json").read_text()):
        released = row["signal"] in ("SIGTERM", "SIGINT")
        assert row["braked"] <= (5.0 if released else math.ceil(row["end"]))
        assert row["fastest after"] <= row["fastest before"]
        assert row["rise"] <= TINY


def test_case_names_are_unique():
    assert len({case.name for case in CASES}) == len(CASES) >= 40
    assert len(TESTED) >= 40
