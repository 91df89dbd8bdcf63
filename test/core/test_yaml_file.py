"""Strict YAML in the files of robots, mechanisms, studies and scenarios."""

from dataclasses import dataclass
from functools import partial

import pytest
from arms import ARM, write

import manip_dyn as md
from manip_dyn.core import mapping, positive, read_yaml
from manip_dyn.multibody import load_mechanism
from manip_dyn.prepare import scenario_motion
from manip_dyn.studies import report


def robot(folder, text):
    """Armatures of a robot's joints, in the file next to its URDF."""
    loaded = md.load_robot(write(folder, ARM, text))
    return [float(value) for value in loaded.armature]


def mechanism(folder, text):
    """Stiffness of a mechanism's spring."""
    (folder / "mine.yaml").write_text(text)
    return [load_mechanism(folder / "mine.yaml").forces[0].stiffness]


@dataclass(frozen=True)
class Part:
    weight: float = report.checked(positive)


@dataclass(frozen=True)
class Settings:
    steps: tuple[float, ...] = report.checked(report.list_of(positive))
    parts: dict[str, Part] = report.checked(report.records_by_name(Part))
    repeats: int = report.checked(report.positive_integer, default=3)


def settings(folder, text):
    """Numbers of a study."""
    (folder / "study.yaml").write_text(text)
    settings = report.read_settings("study", Settings, folder / "study.yaml")
    return [*settings.steps, *(part.weight for part in settings.parts.values())]


def scenario(folder, text):
    """Start and goal of a scenario's planner."""
    (folder / "scenario.yaml").write_text(text)
    planned = partial(scenario_motion, md.load_robot("one_link_vertical"), "zero_net_work")
    start, goal = read_yaml(folder / "scenario.yaml", planned)
    return [*start, *goal]


READERS = {
    robot: "armature: {shoulder: 2e7, elbow: 1e-3}\n",
    mechanism: """
bodies:
  arm: {mass: 1, inertia: [1, 1, 1], position: [1, 0, 0]}
joints:
  pin: {kind: revolute, bodies: [ground, arm], points: [0, 0, 0], axis: [0, 0, 1]}
forces:
  - {kind: rotational_spring, bodies: [ground, arm], axis: [0, 0, 1], stiffness: 2e7}
""",
    settings: "steps: [2e7, 1e-3, 1.5e3]\nparts: {one: {weight: .5e1}}\n",
    scenario: """
/**/bang_bang_planner:
  ros__parameters: {robot: one_link_vertical, method: zero_net_work, goal: [1e-3]}
/**/simulator:
  ros__parameters: {initial_position: [2e7]}
""",
}
NUMBERS = {
    robot: [2e7, 1e-3],
    mechanism: [2e7],
    settings: [2e7, 1e-3, 1.5e3, 5.0],
    scenario: [2e7, 1e-3],
}


@pytest.mark.parametrize("read", READERS)
def test_numbers_need_no_point(read, tmp_path):
    assert read(tmp_path, READERS[read]) == NUMBERS[read]


@pytest.mark.parametrize(
    ("read", "old", "new", "key", "line"),
    [
        (robot, "elbow: 1e-3", "shoulder: 1e-3", "shoulder", 1),
        (mechanism, "joints:\n", "  arm: {mass: 2}\njoints:\n", "arm", 4),
        (settings, "{weight: .5e1}", "{weight: 1, weight: 2}", "weight", 2),
        (scenario, "{robot:", "{robot: pa10, robot:", "robot", 3),
    ],
)
def test_duplicate_keys_are_reported_with_their_line(read, old, new, key, line, tmp_path):
    text = READERS[read].replace(old, new)
    with pytest.raises(md.ManipDynError) as raised:
        read(tmp_path, text)
    assert str(raised.value).startswith(f"'{tmp_path}")
    assert f".yaml': line {line}: each key must be unique, got '{key}' twice" in str(raised.value)


@pytest.mark.parametrize(
    ("read", "old", "new", "words"),
    [
        (robot, "armature", "armatur", "has the unknown key 'armatur'; did you mean 'armature'?"),
        (robot, "elbow", "elbo", "armature has the unknown key 'elbo'; did you mean 'elbow'?"),
        (mechanism, "mass", "mas", "body 'arm' has the unknown key 'mas'; did you mean 'mass'?"),
        (settings, "weight", "weigth", "one has the unknown key 'weigth'; did you mean 'weight'?"),
        (settings, "parts", "part", "has the unknown key 'part'; did you mean 'parts'?"),
        (
            scenario,
            "ros__parameters: {initial",
            "ros__parameter: {initial",
            "simulator has the unknown key 'ros__parameter'; did you mean 'ros__parameters'?",
        ),
    ],
)
def test_unknown_keys_are_reported_with_the_closest_key(read, old, new, words, tmp_path):
    with pytest.raises(md.ManipDynError) as raised:
        read(tmp_path, READERS[read].replace(old, new))
    assert str(raised.value).startswith(f"'{tmp_path}")
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("read", "old", "new", "words"),
    [
        (mechanism, "mass: 1, ", "", "body 'arm' must have the key 'mass', got"),
        (settings, "steps: [2e7, 1e-3, 1.5e3]\n", "", "the file must have the key 'steps', got"),
        (settings, "[2e7, 1e-3, 1.5e3]", "2e7", "steps must be a non-empty list, got 20000000.0"),
        (settings, ".5e1", "heavy", "weight of one must be a number, got 'heavy'"),
        (
            settings,
            "{one: {weight: .5e1}}",
            "{}",
            "parts must be a mapping from names to entries, got {}",
        ),
        (settings, "parts", "repeats: yes\nparts", "repeats must be a positive integer, got True"),
        (scenario, ", goal: [1e-3]", "", "of bang_bang_planner must have the key 'goal'"),
        (scenario, "[2e7]", "[2e7, 0]", "initial_position must have shape (1,), got (2,)"),
    ],
)
def test_missing_and_invalid_values_are_reported(read, old, new, words, tmp_path):
    assert old in READERS[read]
    with pytest.raises(md.ManipDynError) as raised:
        read(tmp_path, READERS[read].replace(old, new))
    assert str(raised.value).startswith(f"'{tmp_path}")
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_merged_keys_can_be_overridden(tmp_path):
    """By ``<<``, which brings keys in from another place."""
    file = tmp_path / "merged.yaml"
    file.write_text("base: &base {a: 1e3, b: 2}\nmine: {<<: *base, b: 3}\n")
    assert read_yaml(file, lambda content: content["mine"]) == {"a": 1000.0, "b": 3}


@pytest.mark.parametrize("text", ["2e", "e7", "1e-3s", "2 e7", "0x2e7", "1.2.3e4"])
def test_strings_similar_to_numbers_remain_strings(text, tmp_path):
    file = tmp_path / "text.yaml"
    file.write_text(f"value: {text}\n")
    assert read_yaml(file, lambda content: content["value"]) == (0x2E7 if "x" in text else text)


def test_unreadable_files_are_reported(tmp_path):
    for file, content in (("none.yaml", None), ("bad.yaml", b"a: [1"), ("latin.yaml", b"\xfc: 1")):
        if content is not None:
            (tmp_path / file).write_bytes(content)
        with pytest.raises(md.ManipDynError, match=f"{file}': not readable YAML: "):
            read_yaml(tmp_path / file, lambda content: content)


def test_other_values_than_mappings_are_reported_with_the_keys():
    with pytest.raises(md.ManipDynError, match=r"the file must have keys a, b, got \[1\]"):
        mapping("the file", [1], ("a", "b"))
