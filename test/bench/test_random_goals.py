"""Random arms, collocation as a reference, and success rates for random goals."""

import json
from pathlib import Path

import numpy as np
import pinocchio
import pytest
from arms import random_tree

import manip_dyn as md
from manip_dyn.bench import collocation, random_arms, random_goals

DOCS = Path(md.__file__).parents[1] / "docs"
SLIDE = random_arms.Joint(
    "prismatic", "1 0 0", -2.0, 2.0, 0.0, 0.1, 2.0, 0.0, (0.1, 0.1, 0.1), 8.0, 100.0
)


def test_random_arms_are_reproducible_and_varied():
    arms = list(random_arms.random_arms(12, seed=3))
    assert [arm.n for arm in arms] == [2, 3] * 6
    same, different = (md.load_robot(random_arms.random_urdf(seed, 5)) for seed in (3, 4))
    assert arms[5].urdf == same.urdf
    assert arms[5].urdf != different.urdf
    assert any(body.prismatic for arm in arms for body in arm.bodies)
    assert {bool(arm.damping.any()) for arm in arms} == {True, False}


@pytest.mark.parametrize("index", range(6))
def test_random_arms_can_hold_themselves_in_all_postures(index):
    robot = md.load_robot(random_arms.random_urdf(5, index))
    rng, data, zero = np.random.default_rng(0), robot.model.createData(), np.zeros(robot.n)
    for q in rng.uniform(robot.q_min, robot.q_max, size=(50, robot.n)):
        static = pinocchio.rnea(robot.model, data, q, zero, zero)
        assert np.all(np.abs(static) < robot.tau_max)


@pytest.mark.parametrize("index", range(4))
def test_weak_arms_can_hold_themselves_only_in_some_postures(index):
    robot = md.load_robot(random_arms.random_urdf(5, index, weak=True))
    rng, data, zero = np.random.default_rng(0), robot.model.createData(), np.zeros(robot.n)
    static = [
        np.abs(pinocchio.rnea(robot.model, data, q, zero, zero)) / robot.tau_max
        for q in rng.uniform(robot.q_min, robot.q_max, size=(200, robot.n))
    ]
    assert 0 < np.count_nonzero(np.max(static, axis=1) < 1.0) < 200


def test_there_are_six_known_arms():
    assert [random_arms.known_arm(name).n for name in random_arms.KNOWN] == [2, 2, 2, 2, 2, 3]


@pytest.mark.parametrize("seed", range(3))
def test_dynamics_of_the_reference_are_those_of_pinocchio(seed, tmp_path):
    pytest.importorskip("casadi")
    robot, rng = md.load_robot(random_tree(tmp_path, seed)), np.random.default_rng(seed)
    q, v, tau = rng.normal(size=(3, robot.n))
    rates = np.array(collocation.forward_dynamics(robot)(np.r_[q, v], tau)).ravel()
    applied = tau - robot.damping * v - robot.stiffness * (q - robot.rest)
    expected = pinocchio.aba(robot.model, robot.model.createData(), q, v, applied)
    np.testing.assert_allclose(rates, [*v, *expected], rtol=1e-9, atol=1e-9)


def test_the_reference_of_a_double_integrator_is_the_analytic_minimum():
    pytest.importorskip("casadi")
    robot = md.load_robot(random_arms.urdf("slide", [SLIDE]))
    start, goal = np.array([-0.4]), np.array([0.5])
    reference = collocation.Reference(robot, start, goal, collocation.Solvers(robot))
    assert reference.motion.duration == pytest.approx(2.0 * np.sqrt(0.9 * 2.0 / 8.0), rel=1e-6)
    assert reference.minima == 1
    assert reference.spread(robot) < random_goals.UNIQUE
    assert reference.undetermined(robot) < random_goals.UNDETERMINED


def test_an_optimum_with_a_joint_that_has_time_to_spare_is_not_unique():
    pytest.importorskip("casadi")
    along, across = SLIDE._replace(mass=1.0), SLIDE._replace(axis="0 1 0")
    robot = md.load_robot(random_arms.urdf("table", [along, across]))
    start, goal = np.zeros(2), np.array([0.1, 1.0])
    reference = collocation.Reference(robot, start, goal, collocation.Solvers(robot))
    assert reference.motion.duration == pytest.approx(2.0 * np.sqrt(1.0 * 2.0 / 8.0), rel=1e-5)
    assert reference.spread(robot) > random_goals.UNIQUE


def test_goals_are_planned_compared_and_stored(tmp_path, capsys):
    pytest.importorskip("casadi")
    file = tmp_path / "rows.json"
    arguments = ["--robots", "ibm7535", "--goals", "2", "--seed", "2", "--json", str(file)]
    assert random_goals.main([*arguments, "--reference", "2"]) == 0
    rows = list(random_goals.read_rows(file).values())
    assert [row.status for row in rows] == ["solved"] * 2
    assert [row.minima is None for row in rows] == [False, True]
    assert abs(rows[0].lead) < 1e-3
    assert all(row.defect < 1e-9 and row.excess < 1e-9 for row in rows)
    assert json.loads(file.read_text())["setting"]["commit"]
    assert random_goals.main([*arguments, "--baseline", str(file)]) == 0
    text = capsys.readouterr().out
    assert "goals of the baseline           2: 2 solved -> solved" in text
    assert "slower than the baseline        0 of 2" in text


def test_defects_and_violated_limits_of_a_plan_are_measured():
    robot = md.load_robot("ibm7535")
    plan = md.plan_minimum_time(robot, [0.76, 0.2618], [0.0, 0.0], budget=None)
    assert random_goals.largest_defect(plan) < 1e-9
    assert random_goals.largest_excess(plan) == 0.0


def test_zero_net_work_is_measured_by_the_same_program(capsys):
    assert random_goals.main(["zero_net_work", "--robots", "ibm7535", "--goals", "2"]) == 0
    text = capsys.readouterr().out
    assert "2 of 2, 100.0 %" in text
    assert "0 above 1e-06" in text


def test_reference_without_casadi_is_one_error(monkeypatch, capsys):
    monkeypatch.setattr(random_goals, "find_spec", lambda name: None)
    assert random_goals.main(["--arms", "1", "--goals", "1", "--reference"]) == 2
    assert capsys.readouterr().err == "--reference requires CasADi: pip install casadi\n"


@pytest.mark.skipif(not DOCS.is_dir(), reason="not a checkout")
def test_the_page_of_minimum_time_shows_the_stored_results():
    """The rows of `docs/minimum_time.json` are those of the tables for known arms."""
    stored = random_goals.read_rows(DOCS / "minimum_time.json")
    page = (DOCS / "minimum_time_results.md").read_text(encoding="utf-8")
    for arm in dict.fromkeys(row.arm for row in stored.values()):
        rows = [row for row in stored.values() if row.arm == arm]
        certified, converged = (
            sum(row.status == status for row in rows) for status in ("solved", "converged")
        )
        median, longest = np.quantile([row.cpu for row in rows], [0.5, 1.0])
        time = f"{1e3 * median:.0f} ms" if len(rows) == 200 else f"{median:.2f}"
        assert f"| {certified} | {converged} | {time}, {longest:.1f} s |" in page
