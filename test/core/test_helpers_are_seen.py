"""An edited helper changes the cache keys of its callers in every layer."""

import compileall
import shutil
from pathlib import Path

import pytest
from fresh import output_of

import manip_dyn

SCRIPT = """
from manip_dyn.core import closure_of
for text in {entries}:
    names = {{}}
    exec(text, names)
    digest = names.get("digest") or closure_of(names["entry"]).digest
    assert digest, "the machine code is not cached"
    print(digest)
"""
ENTRIES = {
    "integrate": """
from manip_dyn.integration import METHODS, Options, compile_engine, rhs
entry = compile_engine(rhs, METHODS["rkdp54"], Options(size=2, adaptive=True)).advance
""",
    "codegen": """
import manip_dyn as md
entry = md.customize(md.load_robot("pa10")).in_place.forward_dynamics
""",
    "long chains": "from manip_dyn.codegen import linear_motion as entry",
    "simulation": "from manip_dyn.simulation import of_pd as entry",
    "clik": "from manip_dyn.clik import joint_velocity as entry",
    "planning": "from manip_dyn.planning import try_guesses as entry",
    "minimum time": "from manip_dyn.planning import gauss_newton_steps as entry",
    "multibody": "from manip_dyn.multibody import linearized_rates as entry",
    "force of a user": """
import os, tempfile
from pathlib import Path
from manip_dyn.multibody import UserForce
def push(t, first, second):
    return [first.angular_velocity[0], 0.0, 0.0], [0.0, 0.0, 0.0]
with tempfile.TemporaryDirectory() as folder:
    os.environ["MANIP_DYN_CACHE"] = folder
    UserForce(("a", "ground"), push).addresses()
    digest = ",".join(sorted(path.name for path in Path(folder).glob("*.machine_code")))
""",
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the package, with its data; an edited file is newer than bytecode."""
    root = Path(manip_dyn.__file__).parents[1]
    if not (root / "setup.py").is_file():
        pytest.skip("not a checkout")
    folder = tmp_path_factory.mktemp("copy")
    for name in ("manip_dyn", "urdf", "config"):
        shutil.copytree(root / name, folder / name)
    compileall.compile_dir(folder / "manip_dyn", quiet=1)
    return folder


def digests(folder, *layers):
    """Return the digest of each layer's entry, in one fresh process."""
    script = SCRIPT.format(entries=[ENTRIES[layer] for layer in layers])
    copied = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return output_of(script, cwd=folder, **copied).split()


@pytest.fixture(scope="module")
def unchanged(copy):
    """The digest of each layer before any edit."""
    return dict(zip(ENTRIES, digests(copy, *ENTRIES), strict=True))


@pytest.mark.parametrize(
    ("layer", "file", "old", "new"),
    [
        (
            "integrate",
            "integration/methods/step_control.py",
            "ROUNDING = 3.6e-15",
            "ROUNDING = 3e-15",
        ),
        ("integrate", "integration/time_loop.py", "WIDTHS_AHEAD = 8", "WIDTHS_AHEAD = 9"),
        (
            "integrate",
            "core/compiled.py",
            '"error_model": "numpy"',
            '"error_model": "python"',
        ),
        (
            "integrate",
            "integration/methods/template_parameters.py",
            "number_parameter(types.float64)",
            "number_parameter()",
        ),
        ("codegen", "codegen/backend/trigonometry.py", "LIMIT = 1e5", "LIMIT = 1e4"),
        ("long chains", "codegen/generation/long_chain_workspace.py", "def ", "def  "),
        ("simulation", "simulation/feedback.py", "-limits[i]", "-0.5 * limits[i]"),
        ("clik", "clik/law/inverses.py", "SWEEPS = 30", "SWEEPS = 29"),
        ("planning", "core/solvers.py", "range(size - 1, -1, -1)", "range(size)"),
        (
            "minimum time",
            "planning/minimum_time/interior_point.py",
            "x_r -= element",
            "x_r += element",
        ),
        ("multibody", "multibody/equations/forces.py", "return ", "return  "),
        (
            "force of a user",
            "multibody/equations/primitives.py",
            "2.0 * vec.dot(row",
            "3.0 * vec.dot(row",
        ),
    ],
)
def test_an_edited_helper_changes_the_key(copy, unchanged, layer, file, old, new):
    path = copy / "manip_dyn" / file
    whole = path.read_text()
    assert old in whole
    path.write_text(whole.replace(old, new))
    try:
        assert digests(copy, layer) != [unchanged[layer]]
    finally:
        path.write_text(whole)


@pytest.mark.parametrize("file", ["linking.py", "callables.py", "private_numba.py"])
def test_cache_names_contain_the_file_format_and_the_python_interface(copy, file):
    script = f"""
from manip_dyn.core import symbol_of
{ENTRIES["planning"]}
print(symbol_of(entry, ()))
"""
    path = copy / "manip_dyn" / "core" / file
    before, whole = output_of(script, cwd=copy, PYTHONPATH=str(copy)), path.read_text()
    path.write_text(whole + "# edited\n")
    try:
        assert output_of(script, cwd=copy, PYTHONPATH=str(copy)) != before
    finally:
        path.write_text(whole)


def test_the_same_source_has_the_same_key_again(copy, unchanged):
    """After all edits are undone, whatever else a process has loaded before, or not."""
    assert digests(copy, "planning") == [unchanged["planning"]]
    backwards = [*ENTRIES][::-1]
    assert digests(copy, *backwards) == [unchanged[layer] for layer in backwards]
