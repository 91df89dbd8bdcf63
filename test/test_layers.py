"""Layers: which package may import which; sizes of packages; one version number everywhere."""

import re
from pathlib import Path

import layout
import pytest

import manip_dyn

TESTS = Path(__file__).parent
PACKAGE = Path(manip_dyn.__file__).parent
MODULES = layout.modules(PACKAGE, "manip_dyn")
MAX_CHAIN = 5
"""Largest number of modules of one package that import one another in a row."""
ROS = re.compile(r"^(rclpy|builtin_interfaces|rcl_interfaces|rosgraph_msgs|\w+_msgs|std_srvs)$")
NUMBA = re.compile(
    r"(numba(\.(?!core|np)\w+)?|numba\.extending\.\w+|llvmlite(\.ir|\.binding)?"
    r"|numba\.core\.(types|cgutils|imputils|errors)(\.\w+)?)"
)
"""Documented names of numba and llvmlite."""
SCRIPT_IMPORT = re.compile(r"\b(?:from|import) (manip_dyn\.\w+\.\w[\w.]*)")
"""Import of a module below a package in a script."""
PLANTING = ("test_layers.py", "test_layout.py")
"""Tests with strings that contain such imports as violations of rules."""
MAY_IMPORT = {
    "core": set(),
    "robot": {"robot"},
    "codegen": {"codegen", "robot"},
    "collision": {"collision", "codegen", "robot"},
    "export": {"export", "codegen", "robot"},
    "integration": {"integration"},
    "identification": {"identification", "recording", "codegen", "robot"},
    "inspection": {"inspection", "collision", "codegen", "robot"},
    "control": {"control", "codegen", "robot"},
    "simulation": {"simulation", "collision", "control", "codegen", "robot", "integration"},
    "clik": {"clik", "collision", "control", "codegen", "robot", "integration"},
    "planning": {"planning", "collision", "control", "codegen", "robot", "integration"},
    "multibody": {"multibody", "codegen", "robot", "integration"},
    "ensembles": {
        "ensembles",
        "simulation",
        "clik",
        "planning",
        "control",
        "codegen",
        "robot",
        "integration",
    },
    "bench": {
        "bench",
        "collision",
        "ensembles",
        "export",
        "simulation",
        "clik",
        "codegen",
        "integration",
        "multibody",
        "planning",
        "plots",
        "robot",
    },
    "demo": {"demo", "recording", "robot"},
    "viewer": {
        "viewer",
        "collision",
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
        "collision",
        "simulation",
        "control",
        "clik",
        "planning",
        "multibody",
        "integration",
        "codegen",
        "robot",
        "bench",
        "plots",
    },
    "ros": {
        "ros",
        "collision",
        "integration",
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
"""Packages that a package may import; every package may import `core`."""


def test_every_package_has_a_rule():
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert packages == {*MAY_IMPORT, "cli"}


def forbidden(package, name):
    """Return whether a module of a package must not import a dotted name."""
    top, *rest = name.split(".")
    if top == "manip_dyn":
        if rest[:1] == ["demo"] and package not in ("demo", "cli"):
            return True
        allowed = MAY_IMPORT.get(package)
        # Only `bench` imports `manip_dyn` itself, as users do.
        return allowed is not None and (rest[0] if rest else "bench") not in (*allowed, "core")
    if top in ("pinocchio", "coal"):
        return package not in ("robot", "collision", "bench")
    if top in ("viser", "trimesh"):
        return package != "viewer"
    return bool(ROS.match(top)) and package != "ros"


def violations(files):
    """Return (module, import) for each import that breaks a layer rule."""
    result = []
    for name, file in files.items():
        parts = name.split(".")
        package = parts[1] if len(parts) > 2 or (file.name == "__init__.py" and parts[1:]) else ""
        for item in layout.imports(file):
            imported = item.qualified if item.module == "manip_dyn" else item.module
            if forbidden(package, imported):
                result.append((name, imported))
    return result


def undocumented_imports(files):
    """Return (module, import) for each undocumented name of numba outside the guarded module."""
    return [
        (name, item.qualified)
        for name, file in files.items()
        if not name.endswith("core.private_numba")
        for item in layout.imports(file)
        if re.match(r"(numba|llvmlite)\b", item.module) and not NUMBA.fullmatch(item.qualified)
    ]


def test_undocumented_names_of_numba_stand_in_one_module():
    assert undocumented_imports(MODULES) == []


def test_modules_import_from_their_layer_or_below():
    assert violations(MODULES) == []


def test_private_names_are_not_imported():
    assert layout.private_imports(MODULES) == []


def test_packages_have_no_import_cycles():
    entry_points = ("manip_dyn", "manip_dyn.__main__")
    files = {name: file for name, file in MODULES.items() if name not in entry_points}
    assert layout.cycles(files) == []


def test_import_chains_within_a_package_are_short():
    chains = layout.longest_chains(MODULES)
    long = {name: chain for name, chain in chains.items() if len(chain) > MAX_CHAIN}
    assert long == {}


def test_every_module_has_a_docstring():
    assert [name for name, file in MODULES.items() if not layout.docstring(file)] == []


def test_packages_have_at_least_three_modules():
    assert layout.small_packages(MODULES) == []


@pytest.mark.parametrize(
    "stub", sorted(PACKAGE.rglob("__init__.pyi")), ids=lambda stub: stub.parent.name
)
def test_names_of_a_package_exist(stub):
    missing = [
        item.qualified
        for item in layout.imports(stub)
        if item.module in MODULES
        if item.name not in layout.defined(MODULES[item.module])
    ]
    assert missing == []


def test_a_package_that_is_too_small_is_detected(tmp_path):
    for path in ("__init__.py", "a.py", "b/__init__.py", "b/c.py", "b/d.py", "e.py"):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("")
    assert layout.small_packages(layout.modules(tmp_path, "manip_dyn")) == ["manip_dyn.b"]


def internal_imports(folder):
    """Return imports by tests, and by scripts in strings, of modules below a package.

    Tests import `manip_dyn` and its packages, and no private names.
    """
    result = []
    for file in sorted(folder.rglob("*.py")):
        result += [
            (file.name, item.qualified)
            for item in layout.imports(file)
            if item.module.split(".")[0] == "manip_dyn"
            if item.module.count(".") > 1 or item.name.startswith("_")
        ]
        if file.name not in PLANTING:
            scripts = "\n".join(layout.strings(file))
            result += [(file.name, module) for module in SCRIPT_IMPORT.findall(scripts)]
    return result


def test_tests_import_public_modules():
    assert internal_imports(TESTS) == []


@pytest.mark.parametrize(
    "line",
    [
        "from manip_dyn.planning.work import link_powers",
        "import manip_dyn.planning.work",
        "from manip_dyn.planning import _work",
        "SCRIPT = 'import manip_dyn.planning.work as work'",
        "SCRIPT = 'from manip_dyn.planning.work import link_powers'",
    ],
)
def test_internal_imports_of_tests_are_detected(line, tmp_path):
    (tmp_path / "test_it.py").write_text(f"{line}\n")
    assert internal_imports(tmp_path)


PLANTED = [
    ("integration/methods/explicit_step.py", "from manip_dyn.robot import Robot", violations),
    ("codegen/kernels.py", "import pinocchio", violations),
    ("planning/plan.py", "import rclpy", violations),
    ("core/arrays.py", "from numba.core.typing.templates import Any", undocumented_imports),
    ("core/cache.py", "import numba.np.arrayobj", undocumented_imports),
    ("ros/run.py", "from manip_dyn.demo.scenarios import Run", violations),
    ("clik/tracking.py", "from manip_dyn.clik.postures import _search", layout.private_imports),
    ("clik/law/settings.py", "from manip_dyn.clik.samples import x", layout.cycles),
]


@pytest.mark.parametrize(("file", "line", "rule"), PLANTED, ids=[item[0] for item in PLANTED])
def test_rules_detect_planted_violations(file, line, rule, tmp_path):
    for path, source in (
        (file, line),
        ("clik/samples.py", "from manip_dyn.clik.law.settings import y"),
        ("clik/postures.py", ""),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(f"{source}\n")
    assert rule(layout.modules(tmp_path, "manip_dyn"))
    (tmp_path / file).write_text("")
    assert rule(layout.modules(tmp_path, "manip_dyn")) == []


def test_a_chain_that_is_too_long_is_detected(tmp_path):
    for k in range(MAX_CHAIN + 1):
        (tmp_path / f"m{k}.py").write_text(f"from manip_dyn.m{k + 1} import x\n")
    (tmp_path / f"m{MAX_CHAIN + 1}.py").write_text("x = 1\n")
    (longest,) = layout.longest_chains(layout.modules(tmp_path, "manip_dyn")).values()
    assert len(longest) == MAX_CHAIN + 2


def test_few_lines_are_exempt_from_the_formatter():
    """Only tables of numbers are aligned by hand."""
    assert sum(file.read_text().count("# fmt: skip") for file in MODULES.values()) < 20


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
