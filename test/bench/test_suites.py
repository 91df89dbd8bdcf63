"""`manip_dyn bench`: every suite runs and reports; no test depends on a measured time."""

import ast
import functools
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
import manip_dyn.bench
from manip_dyn.bench import (
    SUITES,
    Candidate,
    calls,
    clik,
    cold,
    collisions,
    compare,
    dynamics,
    ensembles,
    first_results,
    growth,
    integrators,
    mechanisms,
    path_timing,
    planning,
    robots,
    stiff,
    suite,
    sweeps,
    timing,
)
from manip_dyn.bench import bench as record_of
from manip_dyn.cli import main
from manip_dyn.integration import METHODS


@functools.cache
def documented_objects():
    """Return the objects whose methods the rows call, by the names in the rows."""
    robot = md.load_robot("rr")
    kernels = md.customize(robot)
    y0, p = np.zeros(4), np.zeros(2)
    return {
        "md": md,
        "kernels": kernels,
        "problem": md.problem(kernels.right_hand_side, (0.0, 1.0), y0, step=0.1, p=p),
        "solver": md.VelocitySolver(robot),
        "check": md.PostureCheck(md.load_robot("pa10"), md.Scene()),
    }


def assert_documented(code):
    """Check that a call is public and fits the documented signature."""
    call = next(node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    name = ast.unparse(call.func)
    if name.startswith("md."):
        assert name.removeprefix("md.") in md.__all__
    assert not any(part.startswith("_") or part == "in_place" for part in name.split("."))
    function = eval(name, {}, documented_objects())
    keywords = {keyword.arg: None for keyword in call.keywords}
    inspect.signature(function).bind(*call.args, **keywords)


def bench(name, *arguments):
    """Run a suite and check the documented call of its rows."""
    record = record_of(name, *arguments)
    rows = record.rows
    if name not in ("execution", "cold"):  # these rows contain no times of single calls
        assert rows[0].call
    for row in rows:
        if getattr(row, "call", ""):
            assert_documented(row.call)
        assert not hasattr(row, "timings") or row.call
    return record


@pytest.fixture(autouse=True)
def check_records(monkeypatch):
    """Check the rows of the command `manip_dyn bench`, too."""
    monkeypatch.setattr(manip_dyn.bench, "bench", bench)


@pytest.mark.parametrize(
    "code",
    [
        "kernels.in_place.mass_matrix(q)",
        "kernels.mass_matrix(tau=tau)",
        "md.simulate(robot, q, v, tau, 1.0, periods=0.1)",
        "md.core.checks.finite('x', 1.0)",
    ],
)
def test_calls_that_are_not_documented_are_detected(code):
    with pytest.raises((AssertionError, TypeError)):
        assert_documented(code)


@pytest.fixture
def shortly(monkeypatch):
    """Measure for a short time only."""
    for module in (timing, integrators):
        monkeypatch.setattr(module, "SLICE", 1e-5)
    monkeypatch.setattr(integrators, "RUNS", 1)


def test_dynamics_are_compared_with_pinocchio(shortly, capsys):
    assert main(["bench", "dynamics", "--robot", "ibm7535", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert {"commit", "processor", "pin", "numba", "load"} <= set(record["setting"])
    rows = {(row["kernel"], row["way"]): row["timings"] for row in record["rows"]}
    assert {way for _, way in rows} == {dynamics.ONE, dynamics.MANY}
    names = [timing["name"] for timing in rows["forward dynamics", dynamics.MANY]]
    assert names[:2] == ["the call", "inside: in place"]
    assert names[2:4] == [dynamics.LOOP_IN_NUMBA, "pinocchio abaInParallel, 1 thread"]
    exported = [name for name in names if name.startswith("C export, gcc")]
    assert len(exported) == (2 if shutil.which("gcc") else 0)
    for timings in rows.values():
        assert timings[0]["ratio"] == 1.0
        assert all(timing["microseconds"] > 0.0 for timing in timings[:-1])


def test_collision_checks_agree_with_coal(shortly, monkeypatch):
    monkeypatch.setattr(collisions, "POSTURES", 5)
    monkeypatch.setattr(collisions, "MOTIONS", 1)
    robot, scene = md.load_robot("pa10"), collisions.obstacles()
    q = np.random.default_rng(0).uniform(-2.0, 2.0, (100, robot.n))
    checks = collisions.posture_checks(robot, scene).values()
    results = [list(check(q)) for check in (md.PostureCheck(robot, scene).are_clear, *checks)]
    assert len(results) == 4
    assert all(result == results[0] for result in results)
    assert {True, False} == set(results[0])
    record = bench("collisions")
    assert [len(row.timings) for row in record.rows] == [4, 4, 2]
    assert "608 pairs of shapes" in str(record)


def test_every_suite_has_the_interface_of_a_suite():
    for name in SUITES:
        module = suite(name)
        assert callable(module.measure)
        assert callable(module.table)
        assert "manip_dyn" in module.PACKAGES
        assert module.Row._fields
        if hasattr(module, "CALL"):
            assert_documented(module.CALL)


def test_a_first_result_is_timed_with_an_empty_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path))
    monkeypatch.setattr(cold, "WARM_RUNS", 1)
    record = bench("cold", ("import",))
    (row,) = record.rows
    assert row.cold > 0.0 < row.warm
    assert cold.ROWS["import"] in str(record)
    assert not list(tmp_path.iterdir())
    assert set(cold.ROWS) == set(first_results.RESULTS)
    json.dumps(record.content())


def test_first_results_include_the_functions_of_the_readme():
    text = (Path(md.__file__).parent.parent / "README.md").read_text()
    functions = set(re.findall(r"\bmd\.\w+\(", text.split("```python")[1].split("```")[0]))
    assert len(functions) >= 4
    timed = inspect.getsource(first_results.readme)
    assert [function for function in functions if function not in timed] == []


def test_growth_is_compared_with_pinocchio(shortly, monkeypatch, tmp_path):
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path))
    record = bench("growth", (1, 2), False)
    assert os.environ["MANIP_DYN_CACHE"] == str(tmp_path)
    assert not list(tmp_path.iterdir())
    assert [row.joints for row in record.rows] == [1] * 5 + [2] * 5
    for row in record.rows:
        assert len(row.timings) == (1 if "taylor" in row.kernel else 2)
        assert row.first > 0.0
    assert "forward dynamics derivatives" in str(record)
    json.dumps(record.content())
    longer = growth.chain(3, tmp_path)
    assert longer.n == 3
    assert longer.tip_frame.body == 2


def test_a_velocity_solve_is_compared_with_peers_that_return_the_same(shortly, capsys):
    assert main(["bench", "clik", "--robot", "pa10", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    names = [timing["name"] for timing in row["timings"]]
    assert names[:3] == ["manip_dyn", "inside: in place", "manip_dyn, filtered inverse"]
    assert "pinocchio + numpy, by hand" in names
    for package in ("pink", "mink"):
        assert any(package in text for text in (*names, *row["missing"]))
    problem = clik.problem_of(md.load_robot("pa10"))
    solver = clik.our_solver(problem)
    solve, v = clik.our_solve(problem, solver)
    solve()
    np.testing.assert_allclose(v, clik.pinocchio_and_numpy(problem)(), atol=1e-12)
    checked = solver(problem.q, problem.pose, problem.twist)
    np.testing.assert_array_equal(checked.velocity, v)


def test_an_unknown_suite_is_rejected(capsys):
    assert main(["bench", "dynamic"]) == 2
    assert (
        "suite must be a benchmark suite, got 'dynamic'; did you mean 'dynamics'"
        in capsys.readouterr().err
    )


def test_ratios_are_those_of_the_work_on_a_simulated_clock():
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
    assert [candidate.ratio for candidate in timings] == pytest.approx([1.0, 10.0, 2.0], rel=1e-6)
    assert [candidate.microseconds for candidate in timings] == pytest.approx(
        [3.0, 30.0, 6.0], rel=1e-6
    )


@pytest.mark.parametrize("count", [1, 3])
def test_every_candidate_is_timed(count):
    calls = []
    candidates = [Candidate(str(i), lambda i=i: calls.append(i)) for i in range(count)]
    timings = compare(candidates, rounds=2)
    assert [timing.name for timing in timings] == [str(i) for i in range(count)]
    assert set(calls) == set(range(count))


def test_integrators_are_timed_at_equal_error(shortly, monkeypatch):
    assert set(integrators.OURS) <= set(METHODS)
    monkeypatch.setattr(integrators, "OURS", ("rkdp87", "taylor"))
    robot = md.load_robot("one_link_vertical")
    problem = integrators.Problem(robot, np.array([0.3, 0.0]), 0.2, (1e-6,))
    record = bench("integrators", [problem], (1e-4, 1e-7, 1e-10))
    names = [row.candidate for row in record.rows]
    assert "manip_dyn rkdp87" in names
    assert "scipy DOP853, numba rhs" in names
    assert all(row.milliseconds[0] > 0.0 for row in record.rows[:4])
    rows = json.loads(json.dumps(record.content()))["rows"]
    assert {(row["problem"], *row["targets"]) for row in rows} == {
        ("one_link_vertical, 0.2 s", 1e-6)
    }
    assert "ratio to the best of manip_dyn" in str(record)


def test_solvers_run_in_turn_until_they_have_run_enough(shortly, monkeypatch):
    calls: list[str] = []
    clock = itertools.count()
    monkeypatch.setattr(integrators, "RUNS", 5)
    monkeypatch.setattr(integrators, "ENOUGH", 2.5)
    monkeypatch.setattr(integrators.time, "process_time", lambda: float(next(clock)))
    times = integrators.least_times([lambda: calls.append("a"), lambda: calls.append("b")])
    # the first three calls of each determine the repetitions
    assert "".join(calls) == "aaabbb" + 3 * "ab"
    assert times == [1.0, 1.0]


def test_an_interruption_does_not_determine_the_repetitions():
    """Regression: calls of 0.5 us seemed to take 24 us after a compilation."""
    now, calls = [0.0], itertools.count()

    def call():
        now[0] += 0.1 if next(calls) == 1 else 1e-6

    compare([Candidate("call", call)], rounds=1, clock=lambda: now[0])
    assert next(calls) > 2 * 2e-3 / 1e-6


def test_times_are_interpolated_at_the_target_error():
    points = [(1e-3, 1.0), (1e-5, 4.0), (1e-4, 5.0)]
    assert integrators.time_at(points, 1e-4) == pytest.approx(2e3)
    assert integrators.time_at(points, 1e-6) is None


def test_minimum_time_is_the_shortest_of_all_planners():
    robot = md.load_robot("cylindrical")
    problem = planning.Problem("short", robot, (0.1, 0.0), (0.0, 0.0), (1e-3, 3e-4))
    record = bench("planning", [problem])
    rows = {row.candidate: row for row in record.rows}
    ours, grid = rows["zero net work"], rows["grid search of the thesis"]
    assert ours.note == rows["minimum time"].note == "solved"
    assert all(row.milliseconds > 0.0 for row in record.rows)
    assert grid.duration == pytest.approx(ours.duration, abs=0.02)
    shortest = rows.pop("minimum time").duration
    del rows["grid search of the thesis"]  # its motion ends near the goal
    assert all(row.duration > shortest - 1e-6 for row in rows.values())
    if "CasADi + IPOPT collocation" in rows:
        assert rows["CasADi + IPOPT collocation"].duration < shortest + 1e-3
    assert "grid search of the thesis" in str(record)
    assert json.loads(json.dumps(record.content()))["rows"][0]["problem"] == "short"


def test_stiff_candidates_run_until_the_finest_target_is_reached():
    errors = (1e-3, 0.5 * stiff.TARGETS[-1], 1e-2 * stiff.TARGETS[-1])
    solvers = (lambda error=error: np.array([error]) for error in errors)
    assert [point[0] for point in stiff.until_exact(solvers, np.zeros(1))] == list(errors[:2])


def test_plans_are_executed_with_deviations():
    (row,) = bench("execution", ("rr",), 2, ("delay",)).rows
    assert (row.plans, row.arrived, row.far, row.fast) == (2, 2, 0, 0)
    assert 0.0 < row.delay <= row.longest


def test_path_timing_is_compared_with_toppra(monkeypatch):
    monkeypatch.setattr(path_timing, "GRIDS", (20, 40))
    monkeypatch.setattr(path_timing, "SAMPLES", 501)
    monkeypatch.setattr(path_timing, "RUNS", 1)
    points = np.array([[0.2, -0.8], [0.9, 0.3], [0.1, 1.2]])
    record = bench("path_timing", [path_timing.Problem("rr", md.load_robot("rr"), points)])
    ours, *peers = record.rows
    assert ours.violations == 0.0
    assert 0.99 < ours.load <= 1.0
    for row in peers:
        assert row.duration == pytest.approx(ours.duration, rel=0.05)
    assert "violations" in str(record)
    json.dumps(record.content())


def test_an_ensemble_is_compared_with_a_loop_over_its_motions(monkeypatch):
    monkeypatch.setattr(ensembles, "TOLERANCES", (1e-6, 1e-10))
    monkeypatch.setattr(ensembles, "ROUNDS", 1)
    monkeypatch.setattr(ensembles, "DURATION", 0.2)
    monkeypatch.setattr(ensembles, "load_robot", lambda _: md.load_robot("rr"))
    for peer in ("frax_motions", "heyoka_batches"):  # JAX and LLVM compile them for a long time
        monkeypatch.setattr(ensembles, peer, lambda *_: [])
    record = bench("ensembles", 8, 8)
    fixed, sampled, laws, controlled = record.rows
    names = [candidate.name for candidate in fixed.timings]
    assert "a loop over md.simulate" in names
    assert [timing.name for timing in laws.timings][:2] == ["constant efforts", "md.PDControl"]
    assert sampled.memory >= 1.0
    timings = (*fixed.timings, *sampled.timings, *laws.timings, *controlled.timings)
    assert all(candidate.microseconds > 0.0 for candidate in timings)
    assert controlled.errors[1] < controlled.errors[0] < 1e-4
    assert "us at error 1e-06" in str(record)


def test_settings_identify_the_generation_of_the_processor():
    file = Path("/proc/cpuinfo")
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    if "cpu family" not in text:
        pytest.skip("requires /proc/cpuinfo of an x86 processor")
    assert re.search(r"\(family \d+ model \d+\)$", timing.setting(())["processor"])


def test_mujoco_simulates_the_same_motions():
    pytest.importorskip("mujoco")
    motions = ensembles.random_motions(md.load_robot("pa10"), 3)
    n = motions.robot.n
    ours = md.simulate_many(
        motions.robot, motions.starts[:, :n], motions.starts[:, n:], motions.efforts, 0.01
    )
    theirs = ensembles.mujoco_motions(motions, 0.01, 1e-3, 1)()
    np.testing.assert_allclose(theirs, np.hstack([ours.q_end, ours.v_end]), atol=1e-10)


def test_rows_of_calls_have_the_code_inside_and_a_peer(shortly, monkeypatch):
    monkeypatch.setattr(calls, "STATES", (1, 8))
    monkeypatch.setattr(timing, "ROUNDS", 1)
    rows = bench("calls", md.load_robot("rr")).rows
    for row in rows:
        names = [timing.name for timing in row.timings]
        assert names[0] == "the call"
        if row.call.startswith("kernels"):
            assert any(name.startswith("inside") for name in names)
            assert names[-1].startswith("pinocchio")
    assert {row.states for row in rows} == {0, 1, 8}


def test_a_sweep_keeps_the_workers_of_a_simulated_cluster_busy(monkeypatch):
    pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
    monkeypatch.setattr(sweeps, "_executions", lambda *_: ([10.0, 12.0], [RESULT]))
    (row,) = bench("sweeps", 2000, 20).rows
    assert row.seconds_per_case == pytest.approx(11.0)
    assert row.files == 286
    assert row.busy * row.duration * row.workers == pytest.approx(2000 * 11.0)
    assert 0.5 < row.busy < 1.0


RESULT = {"planned_time": 1.0, "arrival_time": 1.1, "final_error": 0.0, "overshoot": 0.0}


def test_the_arms_of_a_dual_arm_do_not_depend_on_each_other():
    mass = md.customize(robots.dual_arm("rr")).mass_matrix(np.array([0.3, 0.5, 0.3, 0.5]))
    np.testing.assert_allclose(mass[:2, :2], mass[2:, 2:], rtol=1e-12)
    np.testing.assert_array_equal(mass[:2, 2:], 0.0)


def test_chains_of_bodies_reach_the_same_error():
    record = bench("mechanisms", (3,))
    assert {row.bodies for row in record.rows} == {3}
    assert [row.target for row in record.rows][:2] == list(mechanisms.TARGETS)
    assert all(row.error < row.target for row in record.rows)
    assert "growth" in str(record)
