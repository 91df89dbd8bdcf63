"""Payload and wrench at the tool as arguments of the dynamics."""

import numpy as np
import pytest
import yaml
from arms import UR5, example, load, random_state

import manip_dyn as md

PAYLOAD = [2.5, 0.02, -0.03, 0.08, 0.012, 0.010, 0.007, 0.001, -0.002, 0.0005]


@pytest.fixture
def ur5(tmp_path):
    """The UR5 without a payload, and the same arm with PAYLOAD in its YAML file."""
    text = example(UR5).read_text()
    robots = []
    for name, payload in (("plain", None), ("carrying", PAYLOAD)):
        path = tmp_path / f"{name}.urdf"
        path.write_text(text)
        if payload:
            content = {
                "link": "tool0",
                "mass": payload[0],
                "com": payload[1:4],
                "inertia": payload[4:],
            }
            path.with_suffix(".yaml").write_text(yaml.safe_dump({"payload": content}))
        robots.append(md.load_robot(path, tip="tool0"))
    return [md.customize(robot) for robot in robots]


def test_a_payload_argument_equals_a_payload_in_the_yaml_file(ur5):
    plain, carrying = ur5
    q, v, tau = random_state(plain.robot, np.random.default_rng(0))
    for ours, theirs in (
        (plain.forward_dynamics(q, v, tau, payload=PAYLOAD), carrying.forward_dynamics(q, v, tau)),
        (plain.inverse_dynamics(q, v, tau, payload=PAYLOAD), carrying.inverse_dynamics(q, v, tau)),
        (plain.mass_matrix(q, payload=PAYLOAD), carrying.mass_matrix(q)),
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12 * np.abs(theirs).max())


@pytest.mark.parametrize("name", ["pa10", "tree2", "rr"])
def test_a_wrench_acts_through_the_jacobian(tmp_path, name):
    kernels = md.customize(load(name, tmp_path))
    q, v, tau = random_state(kernels.robot, np.random.default_rng(1))
    wrench = np.random.default_rng(2).normal(size=6)
    efforts = kernels.jacobian(q).T @ wrench
    pushed = kernels.forward_dynamics(q, v, tau, wrench=wrench)
    expected = kernels.forward_dynamics(q, v, tau + efforts)
    np.testing.assert_allclose(pushed, expected, rtol=1e-9, atol=1e-11)
    loaded = kernels.inverse_dynamics(q, v, tau, wrench=wrench)
    free = kernels.inverse_dynamics(q, v, tau)
    np.testing.assert_allclose(loaded, free - efforts, rtol=1e-10, atol=1e-12)


def test_inverse_dynamics_inverts_forward_dynamics_with_payload_and_wrench(ur5):
    kernels, _ = ur5
    q, v, tau = random_state(kernels.robot, np.random.default_rng(3))
    load_ = {"payload": PAYLOAD, "wrench": [3.0, -2.0, 10.0, 0.1, 0.2, -0.3]}
    a = kernels.forward_dynamics(q, v, tau, **load_)
    np.testing.assert_allclose(kernels.inverse_dynamics(q, v, a, **load_), tau, atol=1e-10)


def test_a_zero_load_does_not_change_the_accelerations(ur5):
    kernels, _ = ur5
    q, v, tau = random_state(kernels.robot, np.random.default_rng(4))
    loaded = kernels.forward_dynamics(q, v, tau, payload=np.zeros(10), wrench=np.zeros(6))
    np.testing.assert_allclose(loaded, kernels.forward_dynamics(q, v, tau), rtol=1e-10)


@pytest.mark.parametrize(
    ("load_", "message"),
    [
        ({"payload": [1.0, 0.0]}, r"payload must have shape \(10,\), got \(2,\)"),
        ({"payload": [-1.0, *[0.0] * 9]}, "payload must have a mass of at least 0 kg, got -1 kg"),
        (
            {"payload": [1, 0, 0, 0, -1, -1, -1, 0, 0, 0]},
            "payload has the non-physical",
        ),
        ({"payload": [np.nan, *[0.0] * 9]}, "payload must be finite"),
        ({"wrench": np.zeros(3)}, "wrench must have shape"),
        ({"wrench": "heavy"}, "wrench must be 6 numbers, got 'heavy'"),
    ],
)
def test_invalid_loads_raise_an_error_that_names_the_argument(load_, message):
    zero = np.zeros(7)
    with pytest.raises(md.ManipDynError, match=message):
        md.customize(md.load_robot("pa10")).forward_dynamics(zero, zero, zero, **load_)
