"""`manip_dyn bench`: it runs and reports; no test fails on a time."""

import json

import pytest

from manip_dyn.bench.timing import Candidate, compare
from manip_dyn.cli import main


def test_the_dynamics_are_timed_beside_pinocchio(capsys):
    assert main(["bench", "dynamics", "--robot", "ibm7535", "--json"]) == 0
    bench = json.loads(capsys.readouterr().out)
    assert {"commit", "processor", "pin", "numba"} <= set(bench["setting"])
    rows = {(row["kernel"], row["way"]): row["timings"] for row in bench["rows"]}
    assert {way for _, way in rows} == {"compiled", "from Python"}
    names = [timing["name"] for timing in rows["forward dynamics", "compiled"]]
    assert names[:3] == ["manip_dyn", "manip_dyn, batched", "pinocchio abaInParallel, 1 thread"]
    for timings in rows.values():
        assert timings[0]["ratio"] == 1.0
        assert all(timing["microseconds"] > 0.0 for timing in timings[:-1])


def test_an_unknown_suite_is_named(capsys):
    assert main(["bench", "dynamic"]) == 2
    assert "no benchmark suite 'dynamic'; did you mean 'dynamics'" in capsys.readouterr().err


def test_ratios_are_those_of_the_work():
    """Ten times the work takes about ten times as long; the bounds are wide on purpose."""
    timings = compare(
        [Candidate("one", lambda: sum(range(2000))), Candidate("ten", lambda: sum(range(20000)))]
    )
    assert 2.0 < timings[1].ratio < 50.0
    per_item = compare([Candidate("loop", lambda: [None] * 1000, 1000)])
    assert per_item[0].microseconds < 1e3


@pytest.mark.parametrize("count", [1, 3])
def test_every_candidate_is_timed(count):
    calls = []
    candidates = [Candidate(str(i), lambda i=i: calls.append(i)) for i in range(count)]
    timings = compare(candidates, rounds=2)
    assert [timing.name for timing in timings] == [str(i) for i in range(count)]
    assert set(calls) == set(range(count))
