"""Mechanisms in YAML files: equivalence with Python, and one clear sentence for each error."""

import numpy as np
import pytest
import yaml

import manip_dyn as md
from manip_dyn.multibody import (
    Joint,
    Mechanism,
    MovingBody,
    RotationalSpring,
    Spring,
    Tyre,
    load_mechanism,
    shipped_mechanisms,
)

PENDULUM = """
gravity: [0.0, -9.81, 0.0]
bodies:
  arm: {mass: 3, inertia: [0.01, 1, 1], position: [1, 0, 0]}
  wheel: {mass: 1.0, inertia: [0.1, 0.1, 0.2, 0, 0, 0], position: [2, 0, 0], velocity: [0, 0, 0]}
joints:
  pin: {kind: revolute, bodies: [ground, arm], axis: [0, 0, 1]}
  end: {kind: spherical, bodies: [arm, wheel], points: [2, 0, 0]}
forces:
  - {kind: rotational_spring, bodies: [ground, arm], axis: [0, 0, 1], stiffness: 4e2, damping: 15}
  - {kind: spring, bodies: [arm, wheel], points: [[1, 1, 0], [2, 1, 0]], stiffness: 2e7}
  - {kind: tyre, body: wheel, point: [2, 0, 0], radius: 0.4, stiffness: 1.0e+3}
"""


def write_file(tmp_path, text):
    path = tmp_path / "mechanism.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_file_describes_the_same_mechanism_as_python(tmp_path):
    text = PENDULUM.replace("velocity: [0, 0, 0]", "orientation: [0.6, 0, 0, 0.8]")
    loaded = load_mechanism(write_file(tmp_path, text))
    z = (0, 0, 1)
    expected = Mechanism(
        [
            MovingBody("arm", 3.0, (0.01, 1, 1), (1, 0, 0)),
            MovingBody("wheel", 1.0, (0.1, 0.1, 0.2), (2, 0, 0), (0.6, 0, 0, 0.8)),
        ],
        [
            Joint("revolute", ("ground", "arm"), (0, 0, 0), z, "pin"),
            Joint("spherical", ("arm", "wheel"), (2, 0, 0), name="end"),
        ],
        [
            RotationalSpring(("ground", "arm"), z, 400.0, 15.0),
            Spring(("arm", "wheel"), [(1, 1, 0), (2, 1, 0)], 2e7),
            Tyre("wheel", (2, 0, 0), 0.4, 1e3),
        ],
        (0, -9.81, 0),
    )
    motions = [md.simulate_mechanism(mechanism, 0.05) for mechanism in (loaded, expected)]
    np.testing.assert_array_equal(motions[0].q, motions[1].q)
    assert [joint.name for joint in loaded.joints] == ["pin", "end"]


@pytest.mark.parametrize("name", shipped_mechanisms())
def test_shipped_mechanisms_load_by_name(name):
    mechanism = load_mechanism(name)
    assert np.abs(mechanism.violations(mechanism.q0)).max() < 1e-12
    assert np.abs(mechanism.violations(mechanism.assembly)).max() == 0.0
    assert np.abs(mechanism.gradients(mechanism.q0) @ mechanism.v0).max() < 1e-11
    assert mechanism.freedoms == {"four_bar": 1, "hmmwv": 18, "slider_crank": 1}[name]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "[ground, arm], axis: [0, 0, 1]}\n  end",
            "[ground, amr], axis: [0, 0, 1]}\n  end",
            "body of the mechanism, got 'amr'; did you mean 'arm'",
        ),
        ("kind: revolute", "kind: hinge", "kind must be one of spherical, .*, got 'hinge'"),
        (
            "kind: spring",
            "kind: sprig",
            "force 2, kind must be one of .*, got 'sprig'; did you mean 'spring'",
        ),
        (
            "[arm, wheel], points: [2, 0, 0]",
            "[arm, arm], points: [2, 0, 0]",
            "must connect two bodies, got 'arm'",
        ),
        ("mass: 3", "mass: -3", "body 'arm', mass"),
        ("mass: 3", "mass: .nan", "body 'arm', mass"),
        ("mass: 3,", "", "body 'arm' must have the key 'mass'"),
        ("mass: 3", "mas: 3", "body 'arm' has the unknown key 'mas'; did you mean 'mass'"),
        ("position: [1, 0, 0]", "position: [1, .inf, 0]", "body 'arm', position .*finite"),
        ("position: [1, 0, 0]", "position: [1, 0]", "position"),
        (
            "position: [1, 0, 0]",
            "orientation: [1, 0.1, 0, 0]",
            "orientation must have the norm 1, got 1.004",
        ),
        (
            "velocity: [0, 0, 0]",
            "velocity: [0, 0.1, 0]",
            "Initial velocities must satisfy the joints, got a violation of end by",
        ),
        ("points: [2, 0, 0]", "points: 2", "joint 'end', points"),
        ("points: [2, 0, 0]", "points: null", "joint 'end', points"),
        (", axis: [0, 0, 1]}\n  end", "}\n  end", "joint 'pin', axis must be a vector, got None"),
        ("stiffness: 2e7", "stiffness: soft", "stiffness .*'soft'"),
        (
            "bodies: [arm, wheel]",
            "bodies: arm",
            "bodies must be the names of two bodies, got 'arm'",
        ),
        ("bodies:\n", "parts:\n", "unknown key 'parts'"),
        ("bodies:\n", "bodies: {arm: {mass: 1\n", "not readable YAML"),
        ("  wheel: {", "  arm: {mass: 1}\n  wheel: {", "each key must be unique, got 'arm' twice"),
        ("gravity: [0.0, -9.81, 0.0]", "gravity: [0.0]", "gravity"),
    ],
)
def test_an_error_in_a_file_is_reported_with_the_file(tmp_path, old, new, message):
    text = PENDULUM.replace(old, new, 1)
    assert text != PENDULUM
    with pytest.raises(md.ManipDynError, match=message) as error:
        load_mechanism(write_file(tmp_path, text))
    assert "mechanism.yaml" in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("key", "value"), [("forces", {}), ("joints", []), ("bodies", None)])
def test_a_section_of_another_type_is_rejected(tmp_path, key, value):
    content = yaml.safe_load(PENDULUM) | {key: value}
    with pytest.raises(md.ManipDynError, match=f"{key} must be"):
        load_mechanism(write_file(tmp_path, yaml.safe_dump(content)))


def test_unconnected_bodies_and_rigid_mechanisms_are_rejected(tmp_path):
    content = yaml.safe_load(PENDULUM)
    content["forces"], content["joints"]["end"] = [], content["joints"].pop("end")
    del content["joints"]["end"]
    with pytest.raises(md.ManipDynError, match="'wheel' is not connected with 'arm'"):
        load_mechanism(write_file(tmp_path, yaml.safe_dump(content)))
    content["joints"] = {
        "weld": {"kind": "fixed", "bodies": ["ground", "arm"]},
        "bolt": {"kind": "fixed", "bodies": ["arm", "wheel"]},
    }
    with pytest.raises(md.ManipDynError, match="must leave at least one degree of freedom"):
        load_mechanism(write_file(tmp_path, yaml.safe_dump(content)))


@pytest.mark.parametrize("source", ["four_bra", "", "no/such/file.yaml"])
def test_unknown_names_and_files_are_rejected(source):
    with pytest.raises(md.ManipDynError, match=r"mean 'four_bar'|unknown|does not exist"):
        load_mechanism(source)


def test_files_that_are_not_yaml_are_rejected(tmp_path):
    (tmp_path / "mechanism.txt").write_text(PENDULUM)
    for source, message in (
        (None, "mechanism must be a name or the path of a file, got None"),
        (tmp_path / "none.yaml", "none.yaml' does not exist"),
        (tmp_path / "mechanism.txt", "must end in .yaml or .yml"),
    ):
        with pytest.raises(md.ManipDynError, match=message):
            load_mechanism(source)
