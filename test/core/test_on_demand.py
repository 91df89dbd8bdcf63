"""The package loads what is used: its names, and what a simple use does not wait for."""

import ast
import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

import manip_dyn as md

SLOW = ["matplotlib", "scipy.integrate", "scipy.interpolate", "scipy.optimize"]


def in_a_fresh_process(code):
    """Return what `code` prints as JSON."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def loaded(code, modules):
    """Return which of `modules` are loaded after `code` ran."""
    return in_a_fresh_process(
        f"import json, sys\n{code}\nprint(json.dumps([m for m in {modules} if m in sys.modules]))"
    )


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


@pytest.mark.parametrize(
    ("code", "not_loaded"),
    [
        ("import manip_dyn", [*SLOW, "numpy", "numba", "pinocchio", "scipy"]),
        ("import manip_dyn as md; md.integrate", [*SLOW, "pinocchio", "scipy.spatial"]),
        ("import manip_dyn as md; md.load_robot('pa10')", [*SLOW, "numba", "scipy"]),
        ("import manip_dyn as md; md.simulate", [*SLOW, "scipy.spatial"]),
        ("import manip_dyn as md; md.plan_minimum_time", [*SLOW, "scipy.spatial"]),
        ("import manip_dyn as md; md.track", [*SLOW, "scipy.spatial"]),
        ("from manip_dyn import multibody", [*SLOW, "scipy.spatial"]),
        (
            "from manip_dyn.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
            "sys.stdout = sys.__stdout__",
            [*SLOW, "numba", "pinocchio", "scipy"],
        ),
    ],
)
def test_a_simple_use_does_not_wait_for_what_it_does_not_need(code, not_loaded):
    if "main" in code:
        code = code.replace("try:", "import io; sys.stdout = io.StringIO()\ntry:")
    assert loaded(code, not_loaded) == []


@pytest.mark.parametrize("before", ["", "md.simulate; ", "import manip_dyn.integrate.solve; "])
def test_integrate_is_the_function_and_not_its_folder(before):
    code = f"import manip_dyn as md, json; {before}print(json.dumps(str(type(md.integrate))))"
    assert in_a_fresh_process(code) == "<class 'function'>"


def test_names_survive_pickling():
    for value in (md.Circle, md.simulate, md.integrate, md.Status):
        assert pickle.loads(pickle.dumps(value)) is value
