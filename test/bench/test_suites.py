"""`manip_dyn bench`: it runs and reports; no test fails on a time."""

import inspect
import itertools
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.bench import (
    SUITES,
    bench,
    cold,
    ensembles,
    integrators,
    path_timing,
    planning,
    timing,
)
from manip_dyn.bench.clik import our_solve, pinocchio_and_numpy, problem_of
from manip_dyn.bench.cold import ROWS
from manip_dyn.bench.ensembles import mujoco_motions
from manip_dyn.bench.first_results import RESULTS, readme
from manip_dyn.bench.growth import chain
from manip_dyn.bench.integrators import OURS, Problem, least_times, time_at
from manip_dyn.bench.record import suite
from manip_dyn.bench.stiff import TARGETS, until_exact
from manip_dyn.bench.timing import Candidate, compare
from manip_dyn.cli import main
from manip_dyn.clik import ClikSettings
from manip_dyn.integration import METHODS


@pytest.fixture
def shortly(monkeypatch):
    """Nothing runs for long: no test looks at how long it took."""
    for module in (timing, integrators):
        monkeypatch.setattr(module, "SLICE", 1e-5)
    monkeypatch.setattr(integrators, "RUNS", 1)


def test_the_dynamics_are_timed_beside_pinocchio(shortly, capsys):
    assert main(["bench", "dynamics", "--robot", "ibm7535", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert {"commit", "processor", "pin", "numba", "load"} <= set(record["setting"])
    rows = {(row["kernel"], row["way"]): row["timings"] for row in record["rows"]}
    assert {way for _, way in rows} == {"compiled", "from Python"}
    names = [timing["name"] for timing in rows["forward dynamics", "compiled"]]
    assert names[:3] == ["manip_dyn", "manip_dyn, batched", "pinocchio abaInParallel, 1 thread"]
    exported = [each for each in names if each.startswith("C export, gcc")]
    assert len(exported) == (2 if shutil.which("gcc") else 0)
    for timings in rows.values():
        assert timings[0]["ratio"] == 1.0
        assert all(timing["microseconds"] > 0.0 for timing in timings[:-1])


def test_every_suite_is_there():
    for name in SUITES:
        module = suite(name)
        assert callable(module.measure)
        assert callable(module.table)
        assert "manip_dyn" in module.PACKAGES
        assert module.Row._fields


def test_a_first_result_is_timed_with_an_empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path))
    monkeypatch.setattr(cold, "WARM_RUNS", 1)
    record = bench("cold", ("import",))
    (row,) = record.rows
    assert row.cold > 0.0 < row.warm
    assert ROWS["import"] in str(record)
    assert not list(tmp_path.iterdir())
    assert set(ROWS) == set(RESULTS)
    json.dumps(record.content())


def test_the_readme_example_that_is_timed_is_the_readmes():
    text = (Path(md.__file__).parent.parent / "README.md").read_text()
    block = text.split("## From Python")[1].split("```python")[1].split("```")[0]
    timed = inspect.getsource(readme).replace(
        "START", "[2.69, 0.51, -0.24, 1.42, 0.87, -2.41, -2.0]"
    )
    calls = re.findall(r"(?:md|kernels)\.\w+\(.*\)", re.sub("  #.*", "", block))
    assert len(calls) == 9
    for call in calls:
        assert call.replace('")', '", mass_scale=mass_scale)') in timed or call in timed


def test_growth_is_measured_beside_pinocchio(shortly, monkeypatch, tmp_path):
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path))
    record = bench("growth", (1, 2))
    assert os.environ["MANIP_DYN_CACHE"] == str(tmp_path)
    assert not list(tmp_path.iterdir())
    assert [row.joints for row in record.rows] == [1] * 5 + [2] * 5
    for row in record.rows:
        assert len(row.timings) == (1 if "taylor" in row.kernel else 2)
        assert row.first > 0.0
    assert "forward dynamics derivatives" in str(record)
    json.dumps(record.content())
    longer = chain(3, tmp_path)
    assert longer.n == 3
    assert longer.tip_frame.body == 2


def test_a_velocity_solve_is_timed_beside_others_that_find_the_same(shortly, capsys):
    assert main(["bench", "clik", "--robot", "pa10", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    names = [timing["name"] for timing in row["timings"]]
    assert names[:2] == ["manip_dyn", "manip_dyn, filtered inverse"]
    assert "pinocchio + numpy, by hand" in names
    for package in ("pink", "mink"):
        assert any(package in text for text in (*names, *row["missing"]))
    problem = problem_of(md.load_robot("pa10"))
    settings = ClikSettings(
        gain=problem.gain, inverse="constant", max_damping=problem.damping, orientation_error="log"
    )
    solve, v = our_solve(problem, settings)
    solve()
    np.testing.assert_allclose(v, pinocchio_and_numpy(problem)(), atol=1e-12)


def test_an_unknown_suite_is_named(capsys):
    assert main(["bench", "dynamic"]) == 2
    assert "no benchmark suite 'dynamic'; did you mean 'dynamics'" in capsys.readouterr().err


def test_ratios_are_those_of_the_work():
    """By a clock that only the candidates move on."""
    now = [0.0]

    def work(seconds):
        now[0] += seconds

    timings = compare(
        [
            Candidate("one", lambda: work(3e-6)),
            Candidate("ten", lambda: work(30e-6)),
            Candidate("loop", lambda: work(6e-3), 1000),
        ],
        clock=lambda: now[0],
    )
    assert [each.ratio for each in timings] == pytest.approx([1.0, 10.0, 2.0], rel=1e-6)
    assert [each.microseconds for each in timings] == pytest.approx([3.0, 30.0, 6.0], rel=1e-6)


@pytest.mark.parametrize("count", [1, 3])
def test_every_candidate_is_timed(count):
    calls = []
    candidates = [Candidate(str(i), lambda i=i: calls.append(i)) for i in range(count)]
    timings = compare(candidates, rounds=2)
    assert [timing.name for timing in timings] == [str(i) for i in range(count)]
    assert set(calls) == set(range(count))


def test_integrators_are_timed_at_equal_error(shortly, monkeypatch):
    """A short motion of a small arm; scipy and our methods reach the error that is asked for."""
    assert set(OURS) <= set(METHODS)
    monkeypatch.setattr(integrators, "OURS", ("rkdp87", "taylor"))
    robot = md.load_robot("one_link_vertical")
    problem = Problem(robot, np.array([0.3, 0.0]), 0.2, (1e-6,))
    record = bench("integrators", [problem], (1e-4, 1e-7, 1e-10))
    names = [row.candidate for row in record.rows]
    assert "manip_dyn rkdp87" in names
    assert "scipy DOP853, numba rhs" in names
    assert all(row.milliseconds[0] > 0.0 for row in record.rows[:4])
    told = json.loads(json.dumps(record.content()))["rows"]
    assert {(row["problem"], *row["targets"]) for row in told} == {
        ("one_link_vertical, 0.2 s", 1e-6)
    }
    assert "over our best" in str(record)


def test_solvers_take_turns_until_they_have_run_enough(shortly, monkeypatch):
    calls: list[str] = []
    clock = itertools.count()
    monkeypatch.setattr(integrators, "RUNS", 5)
    monkeypatch.setattr(integrators, "PATIENCE", 2.5)
    monkeypatch.setattr(integrators.time, "process_time", lambda: float(next(clock)))
    times = least_times([lambda: calls.append("a"), lambda: calls.append("b")])
    assert "".join(calls) == "aabb" + 3 * "ab"  # twice each to find out how often to call
    assert times == [1.0, 1.0]


def test_times_are_read_at_the_target_error():
    points = [(1e-3, 1.0), (1e-5, 4.0), (1e-4, 5.0)]
    assert time_at(points, 1e-4) == pytest.approx(2e3)
    assert time_at(points, 1e-6) is None


def test_planning_is_timed_beside_its_peers():
    """The same motion by all of them: the exact minimum time is the shortest."""
    robot = md.load_robot("cylindrical")
    problem = planning.Problem("short", robot, (0.1, 0.0), (0.0, 0.0), (1e-3, 3e-4))
    record = bench("planning", [problem])
    rows = {row.candidate: row for row in record.rows}
    ours, grid = rows["zero net work"], rows["grid search of the thesis"]
    assert ours.note == rows["minimum time"].note == "solved"
    assert all(row.milliseconds > 0.0 for row in record.rows)
    assert grid.duration == pytest.approx(ours.duration, abs=0.02)
    shortest = rows.pop("minimum time").duration
    del rows["grid search of the thesis"]  # it stops before the goal
    assert all(row.duration > shortest - 1e-6 for row in rows.values())
    if "CasADi + IPOPT collocation" in rows:
        assert rows["CasADi + IPOPT collocation"].duration < shortest + 1e-3
    assert "grid search of the thesis" in str(record)
    assert json.loads(json.dumps(record.content()))["rows"][0]["problem"] == "short"


def test_stiff_candidates_run_until_the_finest_target_is_met():
    errors = (1e-3, 0.5 * TARGETS[-1], 1e-2 * TARGETS[-1])
    solvers = (lambda error=error: np.array([error]) for error in errors)
    assert [point[0] for point in until_exact(solvers, np.zeros(1))] == list(errors[:2])


def test_timed_paths_are_counted_beside_toppra(monkeypatch):
    monkeypatch.setattr(path_timing, "GRIDS", (20, 40))
    monkeypatch.setattr(path_timing, "SAMPLES", 501)
    monkeypatch.setattr(path_timing, "RUNS", 1)
    points = np.array([[0.2, -0.8], [0.9, 0.3], [0.1, 1.2]])
    record = bench("path_timing", [path_timing.Problem("rr", md.load_robot("rr"), points)])
    ours, *others = record.rows
    assert ours.violations == 0.0
    assert 0.99 < ours.load <= 1.0
    for row in others:
        assert row.duration == pytest.approx(ours.duration, rel=0.05)
    assert "violations" in str(record)
    json.dumps(record.content())


def test_many_motions_are_timed_beside_a_loop_over_them(monkeypatch):
    monkeypatch.setattr(ensembles, "TOLERANCES", (1e-6, 1e-10))
    monkeypatch.setattr(ensembles, "ROUNDS", 1)
    monkeypatch.setattr(ensembles, "DURATION", 0.2)
    monkeypatch.setattr(ensembles, "load_robot", lambda _: md.load_robot("rr"))
    for peer in ("frax_motions", "heyoka_batches"):  # compiled by JAX and LLVM, for long
        monkeypatch.setattr(ensembles, peer, lambda *_: [])
    record = bench("ensembles", 8, 8)
    fixed, controlled = record.rows
    names = [each.name for each in fixed.timings]
    assert "a loop over md.simulate" in names
    assert all(each.microseconds > 0.0 for each in (*fixed.timings, *controlled.timings))
    assert controlled.errors[1] < controlled.errors[0] < 1e-4
    assert "us at error 1e-06" in str(record)


def test_mujoco_rolls_out_the_same_motions():
    pytest.importorskip("mujoco")
    given = ensembles.random_motions(md.load_robot("pa10"), 3)
    n = given.robot.n
    ours = md.simulate_many(
        given.robot, given.starts[:, :n], given.starts[:, n:], given.efforts, 0.01
    )
    theirs = mujoco_motions(given, 0.01, 1e-3, 1)()
    np.testing.assert_allclose(theirs, np.hstack([ours.q_end, ours.v_end]), atol=1e-10)
