"""Nodes under fault: each case of the table of docs/reliability.md."""

import json
from contextlib import contextmanager
from pathlib import Path

import pytest
from faults.matrix import CASES, SYSTEMS
from faults.page import BEGIN, END, table

import manip_dyn as md
from manip_dyn.simulation.joint_stops import GIVE

TINY = 1e-9
"""Energy that rounding makes, J."""
HERE = sorted(
    (case for case in CASES if not case.by_hand), key=lambda c: [*SYSTEMS].index(c.system)
)


@pytest.fixture(scope="module")
def system():
    """Return what gives the running system of a name; one runs at a time, until a case fails."""
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


@pytest.mark.parametrize("case", HERE, ids=lambda case: case.name)
def test_a_fault_is_told_and_ends_at_rest_or_following(system, case):
    with system(case.system) as graph:
        seen = graph.outcome(case)
    assert seen.beyond <= GIVE
    assert seen.speed <= graph.robot.v_max.max()
    assert seen.rise <= TINY


DOCS = Path(md.__file__).parents[1] / "docs"
AGAIN = "run python test/ros/record_faults.py docs"


@pytest.mark.skipif(not DOCS.is_dir(), reason="not a checkout")
def test_the_page_has_a_row_of_every_case_as_it_was_seen():
    rows = json.loads((DOCS / "reliability.json").read_text())
    assert [row["case"] for row in rows] == [case.name for case in CASES], AGAIN
    for row, case in zip(rows, CASES, strict=True):
        assert (row["state"], row["level"], row["ends"]) == (case.state, case.level, case.ends), (
            AGAIN
        )
        assert row["beyond"] <= GIVE
        assert row["rise"] <= TINY
    page = (DOCS / "reliability.md").read_text(encoding="utf-8")
    assert page.split(BEGIN)[1].split(END)[0] == table(rows), AGAIN


def test_there_are_many_cases_and_no_name_twice():
    assert len({case.name for case in CASES}) == len(CASES) >= 40
    assert len(HERE) >= 40
