"""The wheel works in an environment without a checkout."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
FOLDERS = ("manip_dyn", "urdf", "config", "launch", "resource", "bin")
FILES = ("setup.py", "setup.cfg", "pyproject.toml", "package.xml", "README.md", "LICENSE")
EXAMPLES = ("01_first_simulation.py", "08_zero_net_work.py")
SCRIPT = """
import runpy, sys
import manip_dyn as md
from manip_dyn.core import share_directory
from manip_dyn.cli import main

prefix = sys.prefix
assert md.__file__.startswith(prefix), md.__file__
assert str(share_directory()).startswith(prefix), share_directory()
assert main(["robots"]) == 0
assert main(["check", "rr", "--quick"]) == 0
for example in sys.argv[1:]:
    sys.argv = [example]
    runpy.run_path(example, run_name="__main__")
"""
VIEW = """
import manip_dyn as md
view = md.view("pa10", browser=False, wait=False, port=0)
from urllib.request import urlopen
assert b"<html" in urlopen(view.url).read()
view.close()
"""


def run(*command, **options):
    """Run a command and return its output."""
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Return Python of a new environment with the wheel; libraries are those of this one."""
    if importlib.util.find_spec("pip") is None:
        pytest.skip("pip is not installed")
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in FOLDERS:  # setuptools writes into the folder that it builds
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(REPOSITORY / name, source / name, ignore=ignored)
    for name in FILES:
        shutil.copy(REPOSITORY / name, source)
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "wheel", "--no-deps", "-q", "-w", str(folder), str(source))
    (wheel,) = folder.glob("*.whl")
    shutil.rmtree(source)
    venv.create(folder / "env", with_pip=False)
    python = folder / "env/bin/python"
    run(*pip, "--python", str(python), "install", "--no-deps", "-q", str(wheel))
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder / "env")}))
    here = Path(sysconfig.get_path("purelib"))
    libraries = [here, *here.glob("cmeel.prefix/lib/python*/site-packages")]
    (site / "libraries.pth").write_text("\n".join(map(str, libraries)))
    return python


@pytest.fixture
def environment():
    return {**os.environ, "PYTHONPATH": "", "MPLBACKEND": "agg"}


def test_commands_and_examples_run_from_the_wheel(python, tmp_path, environment):
    examples = [str(shutil.copy(REPOSITORY / "examples" / name, tmp_path)) for name in EXAMPLES]
    text = run(str(python), "-c", SCRIPT, *examples, cwd=tmp_path, env=environment)
    assert "pa10" in text
    script = python.with_name("manip_dyn")
    assert "manip_dyn 0." in run(str(script), "--version", cwd=tmp_path, env=environment)


def test_a_robot_is_shown_from_the_wheel(python, tmp_path, environment):
    pytest.importorskip("viser", reason="pip install '.[view]'")
    run(str(python), "-c", VIEW, cwd=tmp_path, env=environment)
