"""Dependencies of package.xml and setup.py: complete, consistent, and with existing keys."""

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
RUN = {element.text: element.get("version_gte") for element in MANIFEST.iter("exec_depend")}
TEST = {element.text for element in MANIFEST.iter("test_depend")}
ROSDISTRO = os.environ.get("ROSDISTRO", "")
"""Path of a clone of ros/rosdistro, or ""."""
PYTHON = ("argcomplete", "matplotlib", "numba", "numpy", "rich", "scipy", "yaml")
KEYS = {name: f"python3-{name}" for name in PYTHON}
KEYS |= {"llvmlite": KEYS["numba"], "coal": "pinocchio"}
"""Module -> rosdep key if it differs; numba depends on llvmlite, and pinocchio on coal."""
WHEELS = {"pin": "pinocchio", "pyyaml": "python3-yaml"}
"""Name on PyPI -> rosdep key."""
WITH_VISER = {"PIL", "trimesh"}
"""Modules of the extra `view`; viser has no key, see package.xml."""
FROM_PIP = {"torch", "jax", "sksundae"}
"""Modules of extras that are available by pip only, see package.xml."""


BOUND = re.compile(r'"([\w-]+)(>=[^"]+)"')
"""Name and bounds of a package in setup.py."""


def files(folder):
    """Return the files of a folder without benchmarks, whose peers are optional."""
    return [path for path in sorted((ROOT / folder).rglob("*.py")) if "bench" not in path.parts]


def imported():
    """Yield the top-level modules that the package and its launch files import."""
    for path in (*files("manip_dyn"), *files("launch")):
        yield from (item.module.partition(".")[0] for item in layout.imports(path))


def started():
    """Yield the packages of the executables in launch files."""
    for path in files("launch"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            values = [item.value for item in call.keywords if item.arg == "package"]
            if isinstance(call.func, ast.Name) and call.func.id == "viewer":
                values += call.args[:1]
            yield from (item.value for item in values if isinstance(item, ast.Constant))


def test_imported_modules_are_dependencies():
    modules = (
        set(imported()) - set(sys.stdlib_module_names) - {"manip_dyn"} - WITH_VISER - FROM_PIP
    )
    modules -= {"mujoco", "pydrake"}  # optional peers of `manip_dyn check`
    assert {"rclpy", "numba", "llvmlite", "launch"} <= modules
    assert {KEYS.get(name, name) for name in modules} <= set(RUN)


def test_started_packages_are_dependencies():
    assert {"manip_dyn", "rviz2", "robot_state_publisher"} <= set(started())
    assert set(started()) <= {*RUN, "manip_dyn"}
    assert "ros2launch" in RUN


def test_lower_bounds_are_those_of_setup():
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    bounds = dict(
        re.findall(r'"([\w-]+)>=([\d.]+)(?:,<[\d.]+)?"', text[text.index("install_requires") :])
    )
    assert {"pin", "numba"} <= set(bounds)
    bounds.pop("llvmlite")  # determined by numba in a distribution
    for name, bound in bounds.items():
        lower = RUN.get(WHEELS.get(name, KEYS.get(name, name)))
        assert lower is None or numbers(lower) == numbers(bound), name


def numbers(version):
    """Return a version as numbers without trailing zeros: 6.0 equals 6."""
    return tuple(map(int, re.sub(r"(\.0)+$", "", version).split(".")))


def test_lower_bounds_of_required_packages_are_tested():
    oldest = (ROOT / "test" / "oldest.txt").read_text(encoding="utf-8")
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    needed = text[text.index("install_requires") : text.index("extras_require")]
    bounds = re.findall(r'"([\w-]+)>=([\d.]+)(?:,<[\d.]+)?"', needed)
    assert len(bounds) == needed.count(">=")
    for name, bound in bounds:
        tested = min(map(numbers, re.findall(rf"^{name}==([\d.]+)", oldest, re.MULTILINE)))
        assert tested[: len(numbers(bound))] == numbers(bound), name


def test_the_conda_recipe_has_the_required_packages():
    recipe = yaml.safe_load((ROOT / "conda-recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    text = (ROOT / "setup.py").read_text(encoding="utf-8")
    needed = text[text.index("install_requires") : text.index("extras_require")]
    required = {
        "pinocchio" if name == "pin" else name: bound for name, bound in BOUND.findall(needed)
    }
    listed = dict(entry.split(" ", 1) for entry in recipe["requirements"]["run"])
    assert listed.pop("python")
    assert listed == required
    assert recipe["context"]["version"] == MANIFEST.findtext("version")


def test_the_options_of_pytest_need_no_plugin():
    # colcon test has Ubuntu's pytest without plugins; the Makefile adds workers.
    options = re.search(r'^addopts = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    own = {"-ra", "--import-mode=importlib", "--strict-markers", "--durations=10"}
    without = {"-p", "no:launch_testing", "no:launch_ros"}
    assert set(options.group(1).split()) == own | without


@pytest.mark.skipif(not ROSDISTRO, reason="ROSDISTRO names no clone of ros/rosdistro")
def test_every_key_exists_for_jazzy_on_noble():
    keys = set()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for name in ("base", "python"):
        text = (Path(ROSDISTRO) / "rosdep" / f"{name}.yaml").read_text(encoding="utf-8")
        for key, systems in yaml.load(text, loader).items():
            ubuntu = systems.get("ubuntu")
            if isinstance(ubuntu, dict):
                ubuntu = ubuntu.get("noble", ubuntu.get("*"))
            keys |= {key} if ubuntu else set()
    text = (Path(ROSDISTRO) / "jazzy" / "distribution.yaml").read_text(encoding="utf-8")
    for name, repository in yaml.load(text, loader)["repositories"].items():
        released = repository.get("release", {})
        keys |= set(released.get("packages", [name])) if "version" in released else set()
    assert {*RUN, *TEST} - keys == set()
