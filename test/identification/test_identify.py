"""Base parameters are recovered from noisy logs within their standard deviations."""

import json
import re

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.cli import main
from manip_dyn.identification import (
    base_parameters,
    regressor,
    spring_efforts,
    stated_parameters,
)

RATE = 500.0
T = np.arange(0.0, 10.0, 1.0 / RATE)
NOISE, ENCODER = np.array([1.0, 0.4]), 2e-5


@pytest.fixture(scope="module")
def arm():
    return md.load_robot("rr", viscous_friction=[0.4, 0.2], coulomb_friction=[0.5, 0.3])


@pytest.fixture(scope="module")
def excitation(arm):
    return md.plan_excitation(arm, iterations=60)


def log(arm, excitation, seed=None):
    """Return the log of an arm that follows an excitation, with noise if there is a seed."""
    q, v, a = excitation.at(T)
    tau = regressor(arm, q, v, a) @ stated_parameters(arm) + spring_efforts(arm, q)
    if seed is not None:
        rng = np.random.default_rng(seed)
        tau = tau + NOISE * rng.normal(size=tau.shape)
        q = q + ENCODER * rng.normal(size=q.shape)
    return {"t": T, "q": q, "tau": tau}


def truth(arm):
    return base_parameters(arm).of(stated_parameters(arm))


def test_estimates_without_noise_are_exact(arm, excitation):
    heavier = md.load_robot("rr", mass_scale=1.3)  # a wrong description
    result = md.identify(heavier, **log(arm, excitation))
    np.testing.assert_allclose(result.values, truth(arm), atol=2e-4)
    assert not np.allclose(result.described, truth(arm), atol=0.1)
    assert result.unseen == ()
    np.testing.assert_allclose(result.residual, 0.0, atol=1e-3)


def test_errors_are_consistent_with_the_standard_deviations(arm, excitation):
    """Errors divided by standard deviations have unit variance."""
    scores = []
    for seed in range(20):
        result = md.identify(arm, **log(arm, excitation, seed))
        scores.append((result.values - truth(arm)) / result.deviations)
    scores = np.array(scores)  # 0.6 of 220 independent scores are expected outside
    assert np.sum(np.abs(scores) > 3.0) <= 4
    assert 0.7 < np.sqrt(np.mean(scores**2)) < 1.3


def test_the_noise_of_each_joint_is_estimated(arm, excitation):
    """The filter passes 10 Hz of 250 Hz."""
    result = md.identify(arm, **log(arm, excitation, 1))
    passed = np.sqrt(2.0 * 10.0 / RATE)
    np.testing.assert_allclose(result.noise / (NOISE * passed), 1.0, atol=0.35)


def test_estimates_predict_efforts_of_other_motions(arm, excitation):
    result = md.identify(md.load_robot("rr", mass_scale=0.5), **log(arm, excitation, 3))
    q, v, a = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 50, 2))
    expected = regressor(arm, q, v, a) @ stated_parameters(arm)
    assert (
        np.abs(result.inverse_dynamics(q, v, a) - expected).max() < 0.01 * np.abs(expected).max()
    )


def test_measured_velocities_are_used(arm, excitation):
    measured = log(arm, excitation)
    result = md.identify(arm, **measured, v=excitation.at(T)[1])
    np.testing.assert_allclose(result.values, truth(arm), atol=2e-4)


def test_unobservable_parameters_retain_their_description(arm, excitation):
    """The elbow is at rest, so its friction and its rotor inertia are unobservable."""
    q, v, a = (signal * [1.0, 0.0] for signal in excitation.at(T))
    tau = regressor(arm, q, v, a) @ stated_parameters(arm)
    lighter = md.load_robot("rr", mass_scale=0.9)
    result = md.identify(lighter, t=T, q=q, tau=tau)
    assert {"joint_2 damping", "joint_2 friction", "joint_2 armature"} <= set(result.unseen)
    assert "joint_1 friction" not in result.unseen
    assert np.isinf(result.condition)
    unobservable = np.isinf(result.deviations)
    observable = truth(arm)[~unobservable]
    tolerance = 1e-3 * np.abs(observable).max()
    np.testing.assert_allclose(result.values[~unobservable], observable, atol=tolerance)


def test_joint_parameters_that_are_not_estimated_have_their_description(arm, excitation):
    result = md.identify(arm, **log(arm, excitation), estimated=())
    assert not any("friction" in name or "damping" in name for name in result.names)
    values = dict(zip(result.names, result.values, strict=True))
    assert values["joint_2 my"] == pytest.approx(-5.0, abs=1e-3)


@pytest.mark.parametrize("estimated", [(), ("damping",), ("friction", "armature")])
def test_predicted_efforts_include_joint_parameters_that_are_not_estimated(
    arm, excitation, estimated
):
    result = md.identify(arm, **log(arm, excitation), estimated=estimated)
    q, v, a = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 50, 2))
    expected = regressor(arm, q, v, a) @ stated_parameters(arm)
    np.testing.assert_allclose(result.inverse_dynamics(q, v, a), expected, atol=0.01)


def test_recordings_and_results_are_valid_logs(tmp_path):
    robot = md.load_robot("one_link_vertical")
    swing = md.simulate(robot, [0.5], [0.0], [2.0], 6.0, step=2e-3)
    result = md.identify(robot, swing, estimated=())
    np.testing.assert_allclose(result.values, result.described, atol=2e-2)
    pytest.importorskip("mcap")
    pytest.importorskip("rosbags")
    md.record(swing, tmp_path / "swing.mcap", robot=robot)
    again = md.identify(robot, tmp_path / "swing.mcap", estimated=())
    np.testing.assert_allclose(again.values, result.values, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": None}, "log, or t, q and tau, must be given"),
        ({"q": np.zeros((5000, 3))}, r"q must have shape \(5000, 2\), got \(5000, 3\)"),
        ({"tau": np.full((5000, 2), np.nan)}, "tau must be finite numbers, got an array with nan"),
        ({"t": np.zeros(5000)}, "t must increase, got 0 s followed by 0 s"),
        ({"tau": np.zeros((5000, 2))}, "tau must not be zero throughout"),
        ({"cutoff": 0.0}, "cutoff must be above 0, got 0 Hz"),
        (
            {"estimated": ("inertia",)},
            "got 'inertia'; known: damping",
        ),
        ({"log": 3}, "log must be a recording or have t, q and tau, got a int"),
    ],
)
def test_invalid_logs_raise_an_error(arm, change, message):
    arguments = {"t": T, "q": np.zeros((5000, 2)), "tau": np.ones((5000, 2))} | change
    with pytest.raises(ManipDynError, match=message):
        md.identify(arm, **arguments)
    with pytest.raises(ManipDynError, match="log must have at least 30 samples, got 10"):
        md.identify(arm, t=T[:10], q=np.zeros((10, 2)), tau=np.ones((10, 2)))


def test_an_excitation_satisfies_the_limits_and_improves_the_condition_number(excitation):
    tight = md.load_robot("cylindrical")
    for robot, result in ((tight, md.plan_excitation(tight, iterations=60)), (None, excitation)):
        assert result.condition < result.first_condition
        assert result.evaluations <= 110
        q, v, a = result.at(np.linspace(0.0, result.period, 1001))
        for signal in (v, a):
            np.testing.assert_allclose(signal[[0, -1]], 0.0, atol=1e-12)
        np.testing.assert_allclose(q[0], q[-1], atol=1e-12)
        if robot is not None:
            assert robot.outside_limits(q.min(axis=0)) == robot.outside_limits(q.max(axis=0)) == []
            assert np.all(np.abs(v) < robot.v_max)
            tau = regressor(robot, q, v, a) @ stated_parameters(robot)
            assert np.all(np.abs(tau).max(axis=0) < 1.02 * robot.tau_max)


def test_velocities_and_accelerations_are_derivatives_of_the_positions(excitation):
    t, step = np.linspace(0.1, 9.0, 50), 1e-5
    (q0, v0, _), (_, v, a), (q1, v1, _) = (excitation.at(t + k * step) for k in (-1, 0, 1))
    np.testing.assert_allclose(v, (q1 - q0) / (2.0 * step), atol=1e-6)
    np.testing.assert_allclose(a, (v1 - v0) / (2.0 * step), atol=1e-6)


def test_an_arm_that_is_too_weak_for_gravity_has_no_excitation():
    with pytest.raises(ManipDynError, match="motions satisfies the effort limits of 'rr'"):
        md.plan_excitation(md.load_robot("rr"), effort_limit=[1.0, 1.0], iterations=5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"harmonics": 1}, "harmonics must be a whole number, 2 or more, got 1"),
        ({"harmonics": True}, "harmonics must be a whole number, 2 or more, got True"),
        ({"iterations": 0}, "iterations must be a whole number, 1 or more, got 0"),
        ({"iterations": np.nan}, "iterations must be a whole number, 1 or more, got nan"),
        ({"seed": -1}, "seed must be a whole number, 0 or more, got -1"),
        ({"margin": np.nan}, "margin must be .*, got nan"),
        ({"estimated": ("dampin",)}, "got 'dampin'; did you mean 'damping'?"),
        ({"effort_limit": [0.0, 1.0]}, r"effort_limit must be above 0, got \[0.0, 1.0\]"),
        ({"margin": 0.5}, "margin must be at least 0 and below 0.5, got 0.5"),
        ({"period": 0.0}, "period must be above 0, got 0 s"),
        ({"effort_limit": [1.0]}, "effort_limit must have shape"),
    ],
)
def test_invalid_excitation_arguments_raise_an_error(arm, change, message):
    with pytest.raises(ManipDynError, match=message):
        md.plan_excitation(arm, **change)


def test_the_command_reads_the_csv_file_of_a_simulation(tmp_path, capsys):
    """A nonzero effort makes absolute parameters observable."""
    file = tmp_path / "swing.csv"
    swing = ["simulate", "one_link_vertical", "--start=0.5", "--duration=4", "--step=0.002"]
    assert main([*swing, "--effort=2", "--csv", str(file)]) == 0
    capsys.readouterr()
    options = ["--robot", "one_link_vertical", "--known=friction", "--known=damping"]
    assert main(["identify", str(file), *options]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^base parameter +estimate +deviation +described$", text, re.MULTILINE)
    assert main(["identify", str(file), *options, "--json"]) == 0
    for row in json.loads(capsys.readouterr().out)["parameters"]:
        assert row["value"] == pytest.approx(row["described"], abs=2e-2)
    for content, message in (
        ("t,position_a\n", "has no column 'position_joint_1'"),
        (
            "t,position_joint_1,effort_joint_1\n0,1,1\n\n0.1,1\n",
            "line 4 must have a number in each column: list index",
        ),
        (
            "t,position_joint_1,effort_joint_1\n0,1,high\n",
            "line 2 must have a number in each column: could not convert",
        ),
        ("", "has no column 't'"),
    ):
        file.write_text(content)
        assert main(["identify", str(file), *options]) == 2
        assert message in capsys.readouterr().err
    assert main(["identify", str(tmp_path / "none.csv"), *options]) == 2
    assert "cannot be read: No such file" in capsys.readouterr().err


def test_invalid_motions_and_names_raise_an_error(arm):
    described = md.identify(arm, t=T, q=np.ones((5000, 2)), tau=np.ones((5000, 2)))
    one, two = np.ones(2), np.ones((2, 2))
    assert described.inverse_dynamics(one, one, one).shape == (1, 2)
    for arguments, message in (
        (([[1.0], [1.0, 2.0]], two, two), "must be numbers"),
        ((1.0, one, one), "q must be numbers \\(m, n\\), got 1.0"),
        ((one, two, one), r"v must have shape \(1, 2\), got \(2, 2\)"),
    ):
        with pytest.raises(ManipDynError, match=message):
            described.inverse_dynamics(*arguments)
    with pytest.raises(ManipDynError, match="must be a base parameter, got 'm'"):
        described.formula("m")
    with pytest.raises(ManipDynError, match="must be a Robot from load_robot"):
        md.identify("rr", t=T, q=two, tau=two)
