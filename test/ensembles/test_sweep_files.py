"""Sweeps from files, their tasks, and the command."""

import json

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.cli import main
from manip_dyn.core import share_directory
from manip_dyn.ensembles import TASKS, Task, read_sweep_file, shipped_sweeps

pytest.importorskip("pyarrow", reason="stored sweeps need pip install '.[sweep]'")
EXECUTION = """
task: execution
robot: ibm7535
fixed: {start: [0.1, 0.05], goal: [0.0, 0.0], duration: 2.0}
cases:
  list: [{method: zero_net_work, damping: 40.0}, {method: pd, damping: 20.0}]
  latin_hypercube: {count: 2, seed: 1, mass_scale: [0.95, 1.05], position_noise: [0.0, 1e-5]}
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "sweep.yaml"
        path.write_text(text)
        return str(path)

    return write


def solve(name, robot, case, **fixed):
    (row,) = md.sweep(Task(name, {"source": robot}, fixed), [case], workers=1).rows
    return row


def test_plan_task_returns_the_values_of_the_plan():
    row = solve("plan", "ibm7535", {"goal": [0.2, 0.1]}, method="zero_net_work")
    plan = md.plan_zero_net_work(md.load_robot("ibm7535"), [0.0, 0.0], [0.2, 0.1])
    assert (row["t_final"], row["status"], row["success"]) == (plan.t_final, "solved", True)
    assert row["switches"] == 2
    components = {"goal_shoulder": 0.2, "goal_elbow": 0.1}
    assert solve("plan", "ibm7535", components, method="zero_net_work")["t_final"] == plan.t_final


def test_simulate_task_returns_the_values_of_the_simulation():
    row = solve("simulate", "rr", {"start": [0.3, 0.2]}, duration=0.02, effort=[1.0, 0.0])
    assert not row["saturated"]
    assert solve("simulate", "rr", {}, duration=0.002, effort=[1e4, 0.0])["saturated"]
    result = md.simulate(md.load_robot("rr"), [0.3, 0.2], [0.0, 0.0], [1.0, 0.0], 0.02)
    assert row["q"] == result.q[-1].tolist()
    assert row["v"] == result.v[-1].tolist()
    assert (row["time"], row["steps"], row["status"]) == (0.02, 20, "success")


def test_track_task_follows_the_circle():
    case = {"center": [0.0, 0.4, 0.6], "normal": [0.0, 1.0, 0.0], "first": [-1.0, 0.0, 0.0]}
    case |= {"rpy": [0.0, 0.785, 0.0], "start": [2.69, 0.51, -0.24, 1.42, 0.87, -2.41, -2.0]}
    row = solve("track", "pa10", case, duration=0.3)
    assert row["status"] == "success"
    assert row["time"] == pytest.approx(0.3)
    assert row["position_error"] < 1e-3


def test_infeasible_cases_are_failed_rows_with_a_reason():
    for name, case, message in (
        (
            "plan",
            {"method": "pd", "goal": [0.2, 0.1]},
            "method must be one of zero_net_work",
        ),
        (
            "plan",
            {"method": "minimum_time", "goal": [9.0, 0.0]},
            "goal of joint 'shoulder' must be",
        ),
        ("plan", {"method": "minimum_time", "goal": [0.0]}, "goal must have shape (2,), got (1,)"),
        ("simulate", {"duration": -1.0}, "duration must be above 0, got -1"),
        ("execution", {"method": "pd", "goal": [0.0, 0.0], "mass_scale": -1.0}, "mass_scale"),
    ):
        row = solve(name, "ibm7535", case)
        assert (row["success"], row["status"]) == (False, "refused")
        assert message in row["reason"]


def test_sweep_files_return_the_same_rows_from_one_and_two_processes(file, tmp_path, capsys):
    source = file(EXECUTION)
    for count in (1, 2):
        out = str(tmp_path / str(count))
        arguments = ["sweep", source, "--workers", str(count), "--out", out, "--chunk", "3"]
        assert main([*arguments, "--json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert report["cases"] == 4
        assert report["folder"] == out
    one, two = (md.read_sweep(tmp_path / str(count)).rows for count in (1, 2))
    assert one == two
    arrived = [row for row in one if row["method"] == "zero_net_work"]
    assert all(row["success"] for row in arrived)
    assert all(row["final_error"] < 1e-3 for row in arrived)
    assert all(0.95 <= row["mass_scale"] <= 1.05 for row in one)
    # A second call repeats no case.
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["done_before"] == 4


@pytest.mark.parametrize("name", shipped_sweeps())
def test_shipped_sweeps_can_be_read(name):
    described = read_sweep_file(name)
    assert described.task.name in TASKS
    assert described.task.robot == {"source": "ibm7535"}
    if name == "ibm7535_mass_error":
        assert len(described.cases) >= 10_000
    assert (share_directory() / "config" / "sweeps" / f"{name}.yaml").is_file()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "must have keys task, robot"),
        ("{task: plan, robot: rr}", "must have the key 'cases'"),
        ("{task: plan, robot: 3, cases: {}}", "robot must be a name"),
        ("{task: plan, robot: rr, cases: {}}", "cases must have list"),
        ("{task: plan, robot: rr, cases: {gird: {}}}", "'gird'; did you mean 'grid'"),
        ("{task: plam, robot: rr, cases: {grid: {goal: [[0, 0]]}}}", "did you mean 'plan'"),
        ("{task: plan, robot: xx, cases: {grid: {goal: [[0, 0]]}}}", "xx"),
        ("{task: plan, robot: rr, cases: {grid: {gaol: [1]}}}", "did you mean 'goal'"),
        ("{task: plan, robot: rr, cases: {grid: {method: [pd]}}}", "requires the setting 'goal'"),
        (
            "{task: plan, robot: rr, fixed: {goal: 1}, cases: {grid: {goal: [1]}}}",
            "either fixed or var",
        ),
        (
            "{task: simulate, robot: rr, cases: {grid: {duration: {from: 1}}}}",
            "must have the key 'to'",
        ),
        ("{task: simulate, robot: rr, cases: {grid: {duration: 1}}}", "must be a list of values"),
        (
            "{task: simulate, robot: rr, cases: {sobol: {duration: [0, 1]}}}",
            "must have the key 'count'",
        ),
        ("{task: simulate, robot: rr, cases: {sobol: 3}}", "sobol must have keys names, got 3"),
        ("{task: simulate, robot: rr, cases: {list: {duration: 1}}}", "list must contain cases"),
        ("{task: simulate, robot: rr, cases: {list: [1, 2]}}", "list must contain cases"),
        ("{task: simulate, robot: rr, fixed: {step: 2020-01-01}, cases: {}}", "fixed must map"),
        ("{task: simulate, robot: {source: rr, lock: 2020-01-01}, cases: {}}", "robot must map"),
        ("{task: [plan], robot: rr, cases: {}}", "name of a task, got '['plan']'"),
        (
            "{task: simulate, robot: rr, cases: {grid: {duration: {from: 0, to: 1, count: 1}}}}",
            "must be at least 2, got 1",
        ),
    ],
)
def test_invalid_files_are_reported_in_one_line(file, text, message, capsys):
    assert main(["sweep", file(text)]) == 2
    output = capsys.readouterr().err
    assert output.count("\n") == 1
    assert message in output


WRONG = """
task: simulate
robot: one_link_vertical
fixed: {step: 0.01}
cases:
  list:
    - {duration: 0.02, start: [0.1], method: rk4}
    - {duration: fast, start: [0.1], method: rk4}
    - {duration: 0.02, start: [.nan], method: rk4}
    - {duration: 0.02, start: [0.1], method: 3}
    - {duration: 0.02, start: [0.1, 0.2], method: rk4}
    - {duration: 0.02, strat: [0.1], method: rk4}
    - 12
    - {duration: 0.02, start: 2020-01-01, method: rk4}
    - {method: rk4, start: [0.1], duration: 0.03}
  grid: {effort_joint_1: [0.0, heavy]}
"""


def test_invalid_values_and_names_are_failed_rows_with_a_reason(file, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["sweep", file(WRONG), "--workers", "1", "--out", str(out), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["cases"] == 18
    assert report["statuses"] == {"refused": 16, "success": 2}
    rows = md.read_sweep(out).rows
    reasons = [row["reason"] for row in rows[::2]]
    for reason, message in zip(
        reasons,
        (
            "the whole duration was simulated",
            "duration must be numbers, got 'fast'.",
            "start must be a finite number",
            "method must be a string, got 3.",
            "start must have shape (1,), got (2,)",
            "the case must have duration, start, method, got duration, strat, method.",
            "the case must have duration, start, method, got 12.",
            "start must be a finite number, a string or numbers, got datetime.date(2020, 1, 1).",
            "the whole duration was simulated",
        ),
        strict=True,
    ):
        assert message in reason
    assert rows[1]["reason"] == "effort_joint_1 must be numbers, got 'heavy'."
    assert [row["duration"] for row in rows[:4:2]] == [0.02, None]


@pytest.mark.parametrize("option", [("--workers", "0"), ("--workers", "-2"), ("--chunk", "0")])
def test_numbers_of_workers_are_checked(file, tmp_path, option, capsys):
    assert main(["sweep", file(EXECUTION), "--out", str(tmp_path / "out"), *option]) == 2
    output = capsys.readouterr().err
    assert f"{option[0][2:]} must be a whole number, 1 or more, got {option[1]}" in output
    assert not (tmp_path / "out").exists()


def test_settings_of_vector_components_require_a_valid_vector():
    row = solve("plan", "ibm7535", {"goal_elbow": 0.1}, method="minimum_time", goal=[0.2])
    assert row["status"] == "refused"
    assert row["reason"] == "goal must have shape (2,), got (1,)."
    row = solve("plan", "ibm7535", {"goal_elbow": "x"}, method="minimum_time", goal=[0.2, 0.0])
    assert row["reason"].startswith("goal_elbow must be a number, got 'x'")


def test_unknown_sweeps_are_reported_with_a_suggestion(capsys):
    assert main(["sweep", "ibm7535_gaols"]) == 2
    assert "did you mean 'ibm7535_goals'" in capsys.readouterr().err


def test_missing_libraries_are_reported_with_the_install_command(
    file, monkeypatch, capsys, tmp_path
):
    monkeypatch.chdir(tmp_path)
    for library, more in (("pyarrow", ()), ("distributed", ("--scheduler", "tcp://x:1"))):
        with monkeypatch.context() as patch:
            patch.setitem(__import__("sys").modules, library, None)
            assert main(["sweep", file(EXECUTION), *more]) == 2
        output = capsys.readouterr().err
        assert f"{library}; pip install 'manip_dyn[sweep]'" in output


def test_pd_executes_without_a_plan():
    fixed = {"start": [0.05, 0.0], "goal": [0.0, 0.0], "duration": 2.0}
    row = solve("execution", "ibm7535", {"method": "pd"}, **fixed)
    assert (row["planned_time"], row["returns"]) == (0.0, 0)
    assert np.isfinite(row["overshoot"])
