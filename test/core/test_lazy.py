"""The package loads its names on first use, and simple uses load few modules."""

import ast
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from fresh import output_of

import manip_dyn as md

SLOW = ["matplotlib", "scipy.integrate", "scipy.interpolate", "scipy.optimize"]


def test_public_names_are_listed_and_load():
    assert dir(md) == sorted(md.__all__)
    for name in md.__all__:
        assert getattr(md, name) is not None
    with pytest.raises(AttributeError, match="'manip_dyn' has no attribute 'simulat'"):
        md.simulat  # noqa: B018


def test_type_checkers_see_the_public_names():
    stub = Path(md.__file__).with_suffix(".pyi").read_text()
    names = {
        alias.asname
        for statement in ast.parse(stub).body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
    assert names == set(md.__all__)


@pytest.mark.parametrize(
    ("old", "package", "new"),
    [
        ("Options", "integration", "Options"),
        ("Space", "integration", "Space"),
        ("check", "", "check_urdf"),
        ("compile_engine", "integration", "compile_engine"),
        ("excitation", "", "plan_excitation"),
        ("simulate_by_adams", "multibody", "simulate_by_adams"),
        ("view_motion", "viewer", "view_motion"),
    ],
)
def test_names_of_0_2_still_work_with_a_warning(old, package, new):
    home = getattr(md, package) if package else md
    with pytest.warns(DeprecationWarning, match=rf"manip_dyn.{old} is deprecated .* use"):
        assert getattr(md, old) is getattr(home, new)
    assert old not in dir(md)


STEPS = [
    [
        ("import manip_dyn as md", [*SLOW, "numpy", "numba", "pinocchio", "scipy"]),
        ("md.load_robot('pa10')", [*SLOW, "numba", "scipy"]),
        ("md.simulate", [*SLOW, "scipy.spatial"]),
        ("md.plan_minimum_time", [*SLOW, "scipy.spatial"]),
        ("md.track", [*SLOW, "scipy.spatial"]),
        ("from manip_dyn import multibody", [*SLOW, "scipy.spatial"]),
    ],
    [("import manip_dyn as md; md.integrate", [*SLOW, "pinocchio", "scipy.spatial"])],
    [
        (
            "import contextlib, io\n"
            "from manip_dyn.cli import main\n"
            "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
            "    main(['--help'])",
            [*SLOW, "numba", "pinocchio", "scipy"],
        ),
    ],
]
"""Successive statements of separate processes, and the modules that they must not load."""


@pytest.mark.parametrize("steps", STEPS, ids=["library", "integrate", "command"])
def test_simple_uses_load_no_unneeded_modules(steps):
    code = "import json, sys\n"
    for step, modules in steps:
        code += f"{step}\nprint(json.dumps([m for m in {modules} if m in sys.modules]))\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = map(json.loads, done.stdout.splitlines())
    excess = {step: names for (step, _), names in zip(steps, loaded, strict=True) if names}
    assert excess == {}


@pytest.mark.parametrize("before", ["", "md.simulate; ", "import manip_dyn.integration; "])
def test_integrate_is_the_function(before):
    output = output_of(f"import manip_dyn as md; {before}print(type(md.integrate))")
    assert output == "<class 'function'>\n"


def test_the_old_name_of_the_package_integration_still_works():
    printed = output_of(
        "import warnings, manip_dyn as md\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    import manip_dyn.integrate as old\n"
        "print(caught[0].category.__name__, old.METHODS is md.METHODS)\n"
        "print(md.integrate(lambda t, y: -y, (0.0, 1.0), [1.0], step=0.1).success)"
    )
    assert printed == "DeprecationWarning True\nTrue\n"


def test_names_survive_pickling():
    for value in (md.Circle, md.simulate, md.integrate, md.Status):
        assert pickle.loads(pickle.dumps(value)) is value
