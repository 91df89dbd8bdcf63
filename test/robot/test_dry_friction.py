"""Dry friction from a URDF and its YAML file."""

import re

import pytest
from arms import write_shipped

import manip_dyn as md


def write_robot(tmp_path, extras=""):
    """Return a URDF of `ibm7535` with friction, and write a YAML file of the same stem."""
    path = write_shipped(tmp_path, "ibm7535")
    text = re.sub(r'friction="0"', 'friction="4.5"', path.read_text(encoding="utf-8"))
    path.write_text(text, encoding="utf-8")
    path.with_suffix(".yaml").write_text(extras, encoding="utf-8")
    return path


def levels(robot):
    friction = robot.coulomb_friction, robot.static_friction, robot.stribeck_velocity
    return [level.tolist() for level in friction]


def test_friction_of_the_urdf_causes_no_note(tmp_path):
    robot = md.load_robot(write_robot(tmp_path))
    assert levels(robot) == [[4.5, 4.5], [4.5, 4.5], [0.0, 0.0]]
    assert robot.notes == ()


def test_the_yaml_file_and_the_argument_replace_the_friction_of_the_urdf(tmp_path):
    first, second = md.load_robot("ibm7535").joint_names
    extras = (
        f"friction: {{{first}: {{static: 6, stribeck_velocity: 0.01}}, {second}: {{coulomb: 1}}}}"
    )
    path = write_robot(tmp_path, extras)
    assert levels(md.load_robot(path)) == [[4.5, 1.0], [6.0, 1.0], [0.01, 0.0]]
    robot = md.load_robot(path, coulomb_friction=[2.0, 0.0])
    assert levels(robot) == [[2.0, 0.0], [2.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{static: 1}", "static must be at least the Coulomb friction 4.5, got 1"),
        ("{static: -1}", "static must be 0 or more, got -1"),
        ("{stick: 1}", "stick"),
    ],
)
def test_invalid_friction_raises_an_error(tmp_path, entry, message):
    name = md.load_robot("ibm7535").joint_names[0]
    with pytest.raises(md.ManipDynError, match=message):
        md.load_robot(write_robot(tmp_path, f"friction: {{{name}: {entry}}}"))


def test_no_shipped_robot_has_dry_friction():
    for name in ("pa10", "panda", "ur5", "ibm7535", "cylindrical", "rr", "stiff_pendulum"):
        assert not md.load_robot(name).has_dry_friction
