"""Nodes under fault: each case of the table of docs/reliability.md."""

import pytest
from faults.matrix import CASES, SYSTEMS

from manip_dyn.simulation.joint_stops import GIVE

TINY = 1e-9
"""Energy that rounding makes, J."""
HERE = sorted(
    (case for case in CASES if not case.by_hand), key=lambda c: [*SYSTEMS].index(c.system)
)


@pytest.fixture(scope="module")
def system():
    """Return what gives the running system of a name; one runs at a time."""
    running = {}

    def get(name):
        if name not in running:
            close()
            running[name] = SYSTEMS[name]().__enter__()
        return running[name]

    def close():
        for each in running.values():
            each.__exit__()
        running.clear()

    yield get
    close()


@pytest.mark.parametrize("case", HERE, ids=lambda case: case.name)
def test_a_fault_is_told_and_ends_at_rest_or_following(system, case):
    graph = system(case.system)
    seen = graph.outcome(case)
    assert seen.beyond <= GIVE
    assert seen.speed <= graph.robot.v_max.max()
    assert seen.rise <= TINY
