"""The layers: who may import what, and how deep; one version everywhere."""

import re
from pathlib import Path

import layout
import pytest

import manip_dyn

PACKAGE = Path(manip_dyn.__file__).parent
MODULES = layout.modules(PACKAGE, "manip_dyn")
FLOORS = 5
"""Most files of a folder that import one another in a row."""
ROS = re.compile(r"^(rclpy|builtin_interfaces|rcl_interfaces|rosgraph_msgs|\w+_msgs|std_srvs)$")
MAY_IMPORT = {
    "core": set(),
    "robot": {"robot"},
    "codegen": {"codegen", "robot"},
    "export": {"export", "codegen", "robot"},
    "integrate": {"integrate"},
    "identification": {"identification", "recording", "codegen", "robot"},
    "inspection": {"inspection", "codegen", "robot"},
    "control": {"control", "codegen", "robot"},
    "simulation": {"simulation", "control", "codegen", "robot", "integrate"},
    "clik": {"clik", "control", "codegen", "robot", "integrate"},
    "planning": {"planning", "control", "codegen", "robot", "integrate"},
    "multibody": {"multibody", "codegen", "robot", "integrate"},
    "ensembles": {
        "ensembles",
        "simulation",
        "clik",
        "planning",
        "control",
        "codegen",
        "robot",
        "integrate",
    },
    "bench": {
        "bench",
        "ensembles",
        "export",
        "simulation",
        "clik",
        "codegen",
        "integrate",
        "planning",
        "plots",
        "robot",
    },
    "demo": {"demo", "recording", "robot"},
    "viewer": {
        "viewer",
        "recording",
        "simulation",
        "clik",
        "planning",
        "multibody",
        "codegen",
        "robot",
    },
    "recording": {"recording", "simulation", "clik", "planning", "multibody", "robot"},
    "studies": {
        "studies",
        "simulation",
        "control",
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
        "control",
        "clik",
        "planning",
        "multibody",
        "simulation",
        "recording",
        "codegen",
        "robot",
        "viewer",
    },
}
"""Folder -> folders it may import; `core` is everybody's."""


def test_no_layer_is_without_a_rule():
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders == {*MAY_IMPORT, "cli"}


def forbidden(folder, name):
    """Return whether a module of a folder may not import a dotted name."""
    top, *rest = name.split(".")
    if top == "manip_dyn":
        if rest[:1] == ["demo"] and folder not in ("demo", "cli"):
            return True
        allowed = MAY_IMPORT.get(folder)
        # Only `bench` uses the package as others do.
        return allowed is not None and (rest[0] if rest else "bench") not in (*allowed, "core")
    if top == "pinocchio":
        return folder not in ("robot", "bench")
    if top in ("viser", "trimesh"):
        return folder != "viewer"
    return bool(ROS.match(top)) and folder != "ros"


def violations(known):
    """Return what imports what it must not."""
    found = []
    for name, file in known.items():
        parts = name.split(".")
        folder = parts[1] if len(parts) > 2 or (file.name == "__init__.py" and parts[1:]) else ""
        for each in layout.imports(file):
            whole = each.whole if each.module == "manip_dyn" else each.module
            if forbidden(folder, whole):
                found.append((name, whole))
    return found


def test_a_module_imports_only_from_its_layer_down():
    assert violations(MODULES) == []


def test_no_name_that_is_private_is_imported():
    assert layout.private(MODULES) == []


def test_tests_import_public_names_only():
    found = [
        (file.name, each.whole)
        for file in Path(__file__).parent.rglob("*.py")
        for each in layout.imports(file)
        if each.module.startswith("manip_dyn") and each.name.startswith("_")
    ]
    assert found == []


def test_folders_import_one_another_in_no_circle():
    apart = ("manip_dyn", "manip_dyn.__main__")  # what users import, and what starts the command
    rooms = {name: file for name, file in MODULES.items() if name not in apart}
    assert layout.circles(rooms) == []


def test_chains_of_imports_in_a_folder_are_short():
    long = {room: chain for room, chain in layout.floors(MODULES).items() if len(chain) > FLOORS}
    assert long == {}


def test_every_module_says_its_one_idea():
    assert [name for name, file in MODULES.items() if not layout.idea(file)] == []


PLANTED = [
    ("integrate/steps/explicit.py", "from manip_dyn.robot import Robot", violations),
    ("codegen/kernels.py", "import pinocchio", violations),
    ("planning/plan.py", "import rclpy", violations),
    ("ros/run.py", "from manip_dyn.demo.scenarios import Run", violations),
    ("clik/track.py", "from manip_dyn.clik.posture import _search", layout.private),
    ("clik/law/settings.py", "from manip_dyn.clik.tracking.record import x", layout.circles),
]


@pytest.mark.parametrize(("file", "line", "find"), PLANTED, ids=[each[0] for each in PLANTED])
def test_a_planted_violation_is_seen(file, line, find, tmp_path):
    for each, text in (
        (file, line),
        ("clik/tracking/record.py", "from manip_dyn.clik.law.settings import y"),
        ("clik/posture.py", ""),
    ):
        (tmp_path / each).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / each).write_text(f"{text}\n")
    assert find(layout.modules(tmp_path, "manip_dyn"))
    (tmp_path / file).write_text("")
    assert find(layout.modules(tmp_path, "manip_dyn")) == []


def test_a_chain_that_is_too_long_is_seen(tmp_path):
    for k in range(FLOORS + 1):
        (tmp_path / f"m{k}.py").write_text(f"from manip_dyn.m{k + 1} import x\n")
    (tmp_path / f"m{FLOORS + 1}.py").write_text("x = 1\n")
    (longest,) = layout.floors(layout.modules(tmp_path, "manip_dyn")).values()
    assert len(longest) == FLOORS + 2


def test_calls_are_formatted_by_the_formatter():
    """Only tables of numbers keep a shape of their own."""
    kept = sum(file.read_text().count("# fmt: skip") for file in MODULES.values())
    assert kept < 20


def test_versions_agree():
    root = PACKAGE.parent
    if not (root / "setup.py").is_file():
        pytest.skip("not a checkout")
    stated = [
        re.search(pattern, (root / name).read_text()).group(1)
        for name, pattern in (
            ("setup.py", r'version="([\d.]+)"'),
            ("package.xml", r"<version>([\d.]+)</version>"),
            ("README.md", r"Version ([\d.]+),"),
            ("CITATION.cff", r"(?m)^version: ([\d.]+)$"),
            ("CHANGELOG.md", r"## ([\d.]+) - \d{4}-\d\d-\d\d"),
        )
    ]
    assert stated == [manip_dyn.__version__] * 5
