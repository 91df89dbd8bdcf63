"""The layers: who may import what, one idea per file, one version everywhere."""

import ast
import re
from pathlib import Path

import pytest

import manip_dyn

PACKAGE = Path(manip_dyn.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
ROS = re.compile(r"^(rclpy|builtin_interfaces|rcl_interfaces|rosgraph_msgs|\w+_msgs|std_srvs)$")
CORE = ("core", "errors", "validate", "share")
MAY_IMPORT = {
    "robot": {"robot"},
    "codegen": {"codegen", "robot"},
    "integrate": {"integrate"},
    "simulation": {"simulation", "codegen", "robot", "integrate"},
    "clik": {"clik", "codegen", "robot", "integrate"},
    "planning": {"planning", "codegen", "robot", "integrate"},
    "multibody": {"multibody", "codegen", "robot", "integrate"},
    "bench": {"bench", "clik", "codegen", "integrate", "planning", "robot"},
    "demo": {"demo"},
    "studies": {
        "studies",
        "simulation",
        "clik",
        "planning",
        "multibody",
        "integrate",
        "codegen",
        "robot",
        "bench",
        "plots",
    },
    "ros": {
        "ros",
        "integrate",
        "clik",
        "planning",
        "multibody",
        "simulation",
        "codegen",
        "robot",
    },
}
"""Folder -> folders it may import; `CORE` is everybody's."""


def imports(path):
    """Return the dotted names that a module imports, wherever in the file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module == "manip_dyn":
                yield from (f"manip_dyn.{alias.name}" for alias in node.names)
            else:
                yield node.module or ""


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_layer_down(path):
    folder = path.relative_to(PACKAGE).parts[0]
    allowed = MAY_IMPORT.get(folder)
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "manip_dyn" and allowed is not None:
            inside = rest[0] if rest else "bench"  # which alone uses the package as others do
            assert inside in (*allowed, *CORE), f"{folder} imports {name}"
        if name.startswith("manip_dyn.demo"):
            assert folder in ("demo", "cli"), f"{path.name} imports {name}"
        assert top != "pinocchio" or folder in ("robot", "bench"), f"{path.name} imports pinocchio"
        assert not ROS.match(top) or folder == "ros", f"{path.name} imports {name}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_a_module_says_its_one_idea_and_stays_short(path):
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path} has no docstring"
    assert len(path.read_text().splitlines()) <= 320


def test_versions_agree():
    root = PACKAGE.parent
    if not (root / "setup.py").is_file():
        pytest.skip("not a checkout")
    stated = [
        re.search(pattern, (root / name).read_text()).group(1)
        for name, pattern in (
            ("setup.py", r'version="([\d.]+)"'),
            ("package.xml", r"<version>([\d.]+)</version>"),
        )
    ]
    assert stated == [manip_dyn.__version__] * 2
