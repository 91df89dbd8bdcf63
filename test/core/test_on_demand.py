"""The package loads what is used: its names, and what a simple use does not wait for."""

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


def test_every_public_name_is_there_and_listed():
    for name in md.__all__:
        assert getattr(md, name) is not None
    assert set(md.__all__) <= set(dir(md))
    with pytest.raises(AttributeError, match="'manip_dyn' has no attribute 'simulat'"):
        md.simulat  # noqa: B018


def test_what_type_checkers_see_is_what_is_loaded():
    tree = ast.parse(Path(md.__file__).read_text())
    (choice,) = (each for each in tree.body if isinstance(each, ast.If))
    seen = {
        alias.name: each.module.removeprefix("manip_dyn").lstrip(".")
        for each in choice.body
        for alias in each.names
    }
    homes = eval(ast.unparse(choice.orelse[0].value.args[1]))
    told = {name: folder for folder, names in homes.items() for name in names}
    assert told == {name: folder for name, folder in seen.items() if folder}
    assert {folder for folder, names in homes.items() if not names} == {
        name for name, folder in seen.items() if not folder
    }
    assert set(md.__all__) == {*told, "ManipDynError"}


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
"""What is done one after the other, in a process each, and what is not loaded then."""


@pytest.mark.parametrize("steps", STEPS, ids=["library", "integrate", "command"])
def test_a_simple_use_does_not_wait_for_what_it_does_not_need(steps):
    code = "import json, sys\n"
    for step, modules in steps:
        code += f"{step}\nprint(json.dumps([m for m in {modules} if m in sys.modules]))\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = map(json.loads, done.stdout.splitlines())
    too_much = {step: found for (step, _), found in zip(steps, loaded, strict=True) if found}
    assert too_much == {}


@pytest.mark.parametrize("before", ["", "md.simulate; ", "import manip_dyn.integration; "])
def test_integrate_is_the_function(before):
    said = output_of(f"import manip_dyn as md; {before}print(type(md.integrate))")
    assert said == "<class 'function'>\n"


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
