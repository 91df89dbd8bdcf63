"""Base parameters come back from noisy logs, within what is stated of them."""

import json
import re

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.cli import main
from manip_dyn.identification import base_parameters, stated_parameters
from manip_dyn.identification.parameters import regressor, spring_efforts

RATE = 500.0
T = np.arange(0.0, 10.0, 1.0 / RATE)
NOISE, ENCODER = np.array([1.0, 0.4]), 2e-5


@pytest.fixture(scope="module")
def arm():
    return md.load_robot("rr", viscous_friction=[0.4, 0.2], coulomb_friction=[0.5, 0.3])


@pytest.fixture(scope="module")
def course(arm):
    return md.plan_excitation(arm, iterations=60)


def log(arm, course, seed=None):
    """Return the log of an arm that follows a course; with a seed, as it would be measured."""
    q, v, a = course.at(T)
    tau = regressor(arm, q, v, a) @ stated_parameters(arm) + spring_efforts(arm, q)
    if seed is not None:
        rng = np.random.default_rng(seed)
        tau = tau + NOISE * rng.normal(size=tau.shape)
        q = q + ENCODER * rng.normal(size=q.shape)
    return {"t": T, "q": q, "tau": tau}


def truth(arm):
    return base_parameters(arm).of(stated_parameters(arm))


def test_without_noise_they_are_those_of_the_arm(arm, course):
    heavier = md.load_robot("rr", mass_scale=1.3)  # as it is described, wrongly
    found = md.identify(heavier, **log(arm, course))
    np.testing.assert_allclose(found.values, truth(arm), atol=2e-4)
    assert not np.allclose(found.described, truth(arm), atol=0.1)
    assert found.unseen == ()
    np.testing.assert_allclose(found.residual, 0.0, atol=1e-3)


def test_they_are_within_three_of_their_deviations(arm, course):
    """Errors over stated deviations are of size one: neither boasted nor hidden."""
    scores = []
    for seed in range(20):
        found = md.identify(arm, **log(arm, course, seed))
        scores.append((found.values - truth(arm)) / found.deviations)
    scores = np.array(scores)  # of 220, 0.6 are expected outside; of independent ones
    assert np.sum(np.abs(scores) > 3.0) <= 4
    assert 0.7 < np.sqrt(np.mean(scores**2)) < 1.3


def test_noise_is_that_of_each_joint(arm, course):
    """As much of it as passes the filter at 10 of 250 Hz."""
    found = md.identify(arm, **log(arm, course, 1))
    passed = np.sqrt(2.0 * 10.0 / RATE)
    np.testing.assert_allclose(found.noise / (NOISE * passed), 1.0, atol=0.35)


def test_estimates_predict_other_motions(arm, course):
    found = md.identify(md.load_robot("rr", mass_scale=0.5), **log(arm, course, 3))
    q, v, a = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 50, 2))
    wanted = regressor(arm, q, v, a) @ stated_parameters(arm)
    assert np.abs(found.inverse_dynamics(q, v, a) - wanted).max() < 0.01 * np.abs(wanted).max()


def test_velocities_that_are_measured_are_taken(arm, course):
    measured = log(arm, course)
    found = md.identify(arm, **measured, v=course.at(T)[1])
    np.testing.assert_allclose(found.values, truth(arm), atol=2e-4)


def test_what_a_log_does_not_tell_stays_as_described(arm, course):
    """The elbow stands still: nothing tells its inertia from its rotor's, or its friction."""
    q, v, a = (each * [1.0, 0.0] for each in course.at(T))
    tau = regressor(arm, q, v, a) @ stated_parameters(arm)
    lighter = md.load_robot("rr", mass_scale=0.9)
    found = md.identify(lighter, t=T, q=q, tau=tau)
    assert {"joint_2 damping", "joint_2 friction", "joint_2 armature"} <= set(found.unseen)
    assert "joint_1 friction" not in found.unseen
    assert np.isinf(found.condition)
    blind = np.isinf(found.deviations)
    seen = truth(arm)[~blind]
    np.testing.assert_allclose(found.values[~blind], seen, atol=1e-3 * np.abs(seen).max())


def test_what_is_not_estimated_is_as_described(arm, course):
    found = md.identify(arm, **log(arm, course), estimated=())
    assert not any("friction" in each or "damping" in each for each in found.names)
    known = dict(zip(found.names, found.values, strict=True))
    assert known["joint_2 my"] == pytest.approx(-5.0, abs=1e-3)


def test_recordings_and_results_are_logs(tmp_path):
    robot = md.load_robot("one_link_vertical")
    swing = md.simulate(robot, [0.5], [0.0], [2.0], 6.0, step=2e-3)
    found = md.identify(robot, swing, estimated=())
    np.testing.assert_allclose(found.values, found.described, atol=2e-2)
    pytest.importorskip("mcap")
    pytest.importorskip("rosbags")
    md.record(swing, tmp_path / "swing.mcap", robot=robot)
    again = md.identify(robot, tmp_path / "swing.mcap", estimated=())
    np.testing.assert_allclose(again.values, found.values, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"t": None}, "expected a log, or t, q and tau"),
        ({"q": np.zeros((5000, 3))}, r"q has shape \(5000, 3\); expected \(5000, 2\)"),
        ({"tau": np.full((5000, 2), np.nan)}, "tau is an array with nan"),
        ({"t": np.zeros(5000)}, "t is 0, then 0 s; expected times that rise"),
        ({"tau": np.zeros((5000, 2))}, "tau is zero throughout; expected efforts"),
        ({"cutoff": 0.0}, "cutoff is 0 Hz"),
        ({"estimated": ("inertia",)}, "estimated has 'inertia'; known: damping"),
        ({"log": 3}, "log is a int; expected a recording, or t, q and tau"),
    ],
)
def test_bad_logs_are_refused(arm, change, words):
    given = {"t": T, "q": np.zeros((5000, 2)), "tau": np.ones((5000, 2))} | change
    with pytest.raises(ManipDynError, match=words):
        md.identify(arm, **given)
    with pytest.raises(ManipDynError, match="the log has 10 samples; expected 30 or more"):
        md.identify(arm, t=T[:10], q=np.zeros((10, 2)), tau=np.ones((10, 2)))


def test_an_excitation_keeps_the_limits_and_conditions_the_regressor(course):
    tight = md.load_robot("cylindrical")
    for robot, found in ((tight, md.plan_excitation(tight, iterations=60)), (None, course)):
        assert found.condition < found.first_condition
        assert found.evaluations <= 110
        q, v, a = found.at(np.linspace(0.0, found.period, 1001))
        for each in (v, a):
            np.testing.assert_allclose(each[[0, -1]], 0.0, atol=1e-12)
        np.testing.assert_allclose(q[0], q[-1], atol=1e-12)
        if robot is not None:
            assert robot.outside_limits(q.min(axis=0)) == robot.outside_limits(q.max(axis=0)) == []
            assert np.all(np.abs(v) < robot.v_max)
            tau = regressor(robot, q, v, a) @ stated_parameters(robot)
            assert np.all(np.abs(tau).max(axis=0) < 1.02 * robot.tau_max)


def test_velocities_and_accelerations_are_those_of_the_positions(course):
    t, step = np.linspace(0.1, 9.0, 50), 1e-5
    (q0, v0, _), (_, v, a), (q1, v1, _) = (course.at(t + k * step) for k in (-1, 0, 1))
    np.testing.assert_allclose(v, (q1 - q0) / (2.0 * step), atol=1e-6)
    np.testing.assert_allclose(a, (v1 - v0) / (2.0 * step), atol=1e-6)


def test_an_arm_that_cannot_hold_itself_has_no_excitation():
    with pytest.raises(ManipDynError, match=r"no motion of .* keeps the efforts of 'rr'"):
        md.plan_excitation(md.load_robot("rr"), effort_limit=[1.0, 1.0], iterations=5)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"harmonics": 1}, "harmonics is 1; expected a whole number, 2 or more"),
        ({"harmonics": True}, "harmonics is True"),
        ({"iterations": 0}, "iterations is 0; expected a whole number, 1 or more"),
        ({"iterations": np.nan}, "iterations is nan"),
        ({"seed": -1}, "seed is -1; expected a whole number, 0 or more"),
        ({"margin": np.nan}, "margin is nan"),
        ({"estimated": ("dampin",)}, "estimated has 'dampin'; did you mean 'damping'?"),
        ({"effort_limit": [0.0, 1.0]}, r"effort_limit is \[0.0, 1.0\]; expected numbers above 0"),
        ({"margin": 0.5}, "margin is 0.5; expected 0 to below 0.5"),
        ({"period": 0.0}, "period is 0 s"),
        ({"effort_limit": [1.0]}, "effort_limit has shape"),
    ],
)
def test_excitations_that_make_no_sense_are_refused(arm, change, words):
    with pytest.raises(ManipDynError, match=words):
        md.plan_excitation(arm, **change)


def test_the_command_reads_the_table_of_a_simulation(tmp_path, capsys):
    """With an effort that is known, so that the swing tells of sizes, not of ratios only."""
    file = tmp_path / "swing.csv"
    swing = ["simulate", "one_link_vertical", "--start=0.5", "--duration=4", "--step=0.002"]
    assert main([*swing, "--effort=2", "--csv", str(file)]) == 0
    capsys.readouterr()
    known = ["--robot", "one_link_vertical", "--known=friction", "--known=damping"]
    assert main(["identify", str(file), *known]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^base parameter +estimate +deviation +described$", text, re.MULTILINE)
    assert main(["identify", str(file), *known, "--json"]) == 0
    for each in json.loads(capsys.readouterr().out)["parameters"]:
        assert each["value"] == pytest.approx(each["described"], abs=2e-2)
    for content, words in (
        ("t,position_a\n", "has no column 'position_joint_1'"),
        ("t,position_joint_1,effort_joint_1\n0,1,1\n\n0.1,1\n", "line 4: list index out of range"),
        ("t,position_joint_1,effort_joint_1\n0,1,high\n", "line 2: could not convert string"),
        ("", "has no column 't'"),
    ):
        file.write_text(content)
        assert main(["identify", str(file), *known]) == 2
        assert words in capsys.readouterr().err
    assert main(["identify", str(tmp_path / "none.csv"), *known]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err


def test_wrong_motions_and_names_are_told(arm):
    described = md.identify(arm, t=T, q=np.ones((5000, 2)), tau=np.ones((5000, 2)))
    one, two = np.ones(2), np.ones((2, 2))
    assert described.inverse_dynamics(one, one, one).shape == (1, 2)
    for given, words in (
        (([[1.0], [1.0, 2.0]], two, two), "expected numbers"),
        ((1.0, one, one), "q is 1.0; expected numbers"),
        ((one, two, one), r"v has shape \(2, 2\); expected \(1, 2\)"),
    ):
        with pytest.raises(ManipDynError, match=words):
            described.inverse_dynamics(*given)
    with pytest.raises(ManipDynError, match="no base parameter 'm'"):
        described.formula("m")
    with pytest.raises(ManipDynError, match="expected a Robot from load_robot"):
        md.identify("rr", t=T, q=two, tau=two)
