"""package.xml names what is imported and started, by keys that exist; setup.py says the same."""

import ast
import os
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import layout
import pytest
import yaml

ROOT = Path(__file__).parents[1]
MANIFEST = ElementTree.parse(ROOT / "package.xml").getroot()
RUN = {each.text: each.get("version_gte") for each in MANIFEST.iter("exec_depend")}
TEST = {each.text for each in MANIFEST.iter("test_depend")}
ROSDISTRO = os.environ.get("ROSDISTRO", "")
"""A clone of ros/rosdistro, where there is one."""
PYTHON = ("argcomplete", "matplotlib", "numba", "numpy", "rich", "scipy", "yaml")
KEYS = {name: f"python3-{name}" for name in PYTHON}
KEYS |= {"llvmlite": KEYS["numba"]}
"""Keys of modules whose key is not their name; numba brings llvmlite."""
WHEELS = {"pin": "pinocchio", "pyyaml": "python3-yaml"}
"""Keys of PyPI's names."""
WITH_VISER = {"PIL", "trimesh"}
"""What the extra `view` has; viser has no key, see package.xml."""
FROM_PIP = {"torch", "jax", "sksundae"}
"""Extras whose libraries only pip has, see package.xml."""


def files(folder):
    """All files of a folder; peers that only `manip_dyn bench` times are nobody's need."""
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if "bench" not in path.parts]


def imported():
    """Top-level modules that the package and its launch files import."""
    for path in (*files("manip_dyn"), *files("launch")):
        yield from (each.module.partition(".")[0] for each in layout.imports(path))


def started():
    """Packages whose executables launch files start."""
    for path in files("launch"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            named = [each.value for each in call.keywords if each.arg == "package"]
            if isinstance(call.func, ast.Name) and call.func.id == "viewer":
                named += call.args[:1]
            yield from (each.value for each in named if isinstance(each, ast.Constant))


def test_all_that_is_imported_is_a_dependency():
    others = set(imported()) - set(sys.stdlib_module_names) - {"manip_dyn"} - WITH_VISER - FROM_PIP
    others -= {"mujoco", "pydrake"}  # `manip_dyn check` compares with those that are there
    assert {"rclpy", "numba", "llvmlite", "launch"} <= others
    assert {KEYS.get(name, name) for name in others} <= set(RUN)


def test_all_that_launch_files_start_is_a_dependency():
    assert {"manip_dyn", "rviz2", "robot_state_publisher"} <= set(started())
    assert set(started()) <= {*RUN, "manip_dyn"}
    assert "ros2launch" in RUN


def test_lower_bounds_are_those_of_setup():
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    bounds = dict(re.findall(r'"([\w-]+)>=([\d.]+)"', text[text.index("install_requires") :]))
    assert {"pin", "numba"} <= set(bounds)
    bounds.pop("llvmlite")  # numba's choice where packages are a distribution's
    for name, bound in bounds.items():
        given = RUN.get(WHEELS.get(name, KEYS.get(name, name)))
        assert given is None or numbers(given) == numbers(bound), name


def numbers(version):
    """A version to compare: 6.0 is 6."""
    return tuple(map(int, re.sub(r"(\.0)+$", "", version).split(".")))


def test_the_oldest_versions_that_are_tested_are_the_lower_bounds():
    """Those of all that is always installed."""
    oldest = (ROOT / "test" / "oldest.txt").read_text(encoding="utf-8")
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    needed = text[text.index("install_requires") : text.index("extras_require")]
    bounds = re.findall(r'"([\w-]+)>=([\d.]+)"', needed)
    assert len(bounds) == needed.count(">=")
    for name, bound in bounds:
        tested = min(map(numbers, re.findall(rf"^{name}==([\d.]+)", oldest, re.MULTILINE)))
        assert tested[: len(numbers(bound))] == numbers(bound), name


def test_nothing_of_the_test_options_needs_a_plugin():
    # colcon test has Ubuntu's pytest alone; the Makefile adds workers.
    options = re.search(r'^addopts = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    own = {"-ra", "--import-mode=importlib", "--strict-markers", "--durations=10"}
    without = {"-p", "no:launch_testing", "no:launch_ros"}
    assert set(options.group(1).split()) == own | without


@pytest.mark.skipif(not ROSDISTRO, reason="ROSDISTRO names no clone of ros/rosdistro")
def test_every_key_is_known_for_jazzy_on_noble():
    known = set()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for name in ("base", "python"):
        text = (Path(ROSDISTRO) / "rosdep" / f"{name}.yaml").read_text(encoding="utf-8")
        for key, systems in yaml.load(text, loader).items():
            ubuntu = systems.get("ubuntu")
            if isinstance(ubuntu, dict):
                ubuntu = ubuntu.get("noble", ubuntu.get("*"))
            known |= {key} if ubuntu else set()
    text = (Path(ROSDISTRO) / "jazzy" / "distribution.yaml").read_text(encoding="utf-8")
    for name, repository in yaml.load(text, loader)["repositories"].items():
        released = repository.get("release", {})
        known |= set(released.get("packages", [name])) if "version" in released else set()
    assert {*RUN, *TEST} - known == set()
