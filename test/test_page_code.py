"""Code blocks of pages: Python runs, YAML loads, commands are valid."""

import os
import re
import shlex
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from command_line import parser_of

import manip_dyn as md
from manip_dyn.cli import COMMANDS
from manip_dyn.viewer import View

ROOT = Path(md.__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
PAGES = [page for page in [*PAGES, *sorted(ROOT.glob("docs/**/*.md"))] if page.is_file()]


def blocks(page, language):
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def python(page):
    """Return the Python code of a page that can run here.

    Nodes are excluded, which test/ros runs, and blocks that require missing libraries.
    """
    missing = [library for library in ("torch", "jax") if not find_spec(library)]
    return "\n".join(
        block
        for block in blocks(page, "python")
        if not any(f"import {library}\n" in block for library in ("rclpy", *missing))
    )


@pytest.mark.parametrize(
    "page", [page for page in PAGES if python(page)], ids=lambda page: page.stem
)
def test_python_blocks_run_and_print_their_expected_output(page, capsys, monkeypatch, tmp_path):
    """Run all blocks of a page in order; comments `# -> LINE` are the expected output."""
    code = python(page)
    monkeypatch.chdir(tmp_path)  # folder of the files that a page writes
    if "md.view(" in code:
        pytest.importorskip("viser", reason="pip install 'manip_dyn[view]'")
        monkeypatch.setattr(View, "wait", View.close)  # otherwise it blocks until Ctrl-C
    if "md.record" in code:
        pytest.importorskip("mcap", reason="pip install 'manip_dyn[record]'")
    if "md.sweep(" in code:
        pytest.importorskip("pyarrow", reason="pip install 'manip_dyn[sweep]'")
    exec(compile(code, str(page), "exec"), {"__name__": "page"})
    printed = capsys.readouterr().out.splitlines()
    for line in re.findall(r"^# -> (.*)$", code, re.MULTILINE):
        assert line in printed, page.name
        printed = printed[printed.index(line) + 1 :]


def test_python_blocks_pass_strict_type_checks(tmp_path):
    """Each page is a module of a user. ROS packages are skipped: they have no types."""
    pytest.importorskip("mypy", reason="pip install '.[test]'")
    for page in PAGES:
        if code := "\n".join(blocks(page, "python")):
            (tmp_path / f"page_{page.stem.lower()}.py").write_text(code, encoding="utf-8")
    options = ["--strict", "--follow-imports=silent", "--ignore-missing-imports"]
    options += ["--allow-subclassing-any", f"--config-file={ROOT / 'pyproject.toml'}"]
    command = [sys.executable, "-m", "mypy", *options, f"--cache-dir={tmp_path / 'cache'}"]
    environment = {**os.environ, "MYPYPATH": str(ROOT)}
    result = subprocess.run(
        [*command, str(tmp_path)], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "page", [page for page in PAGES if blocks(page, "yaml")], ids=lambda p: p.stem
)
def test_yaml_blocks_load(page, tmp_path):
    for block in blocks(page, "yaml"):
        if "bodies:" in block:
            file = tmp_path / "mechanism.yaml"
            file.write_text(block, encoding="utf-8")
            assert md.load_mechanism(file).bodies


def commands(page):
    """Yield the commands of a page with continuation lines and without comments."""
    for block in [*blocks(page, "console"), *blocks(page, "bash")]:
        for line in block.replace("\\\n", " ").splitlines():
            for part in line.removeprefix("$ ").split("&&"):
                yield shlex.split(part, comments=True)


COMMAND_LINES = sorted({tuple(words) for page in PAGES for words in commands(page) if words})


@pytest.mark.parametrize("words", COMMAND_LINES, ids=" ".join)
def test_a_command_is_valid(words):
    """Options, launch files, nodes, make targets and modules exist."""
    text = " ".join(words)
    if words[:3] == ("ros2", "run", "manip_dyn") and words[3] == "manip_dyn":
        words = words[3:]
    if words[0] == "manip_dyn" and len(words) > 1 and words[1] in COMMANDS:
        parser_of(words[1]).parse_args(words[2:])
    elif words[0] == "manip_dyn":
        assert words[1:] in [("--help",), ("--version",)], text
    elif words[:2] == ("ros2", "launch"):
        assert (ROOT / "launch" / words[3]).is_file(), text
    elif words[:3] == ("ros2", "run", "manip_dyn"):
        assert f"{words[3]} = " in (ROOT / "setup.py").read_text().replace("{NAME}", "manip_dyn")
    elif words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), text
    elif words[:2] == ("python", "-m") and words[2].startswith("manip_dyn"):
        assert (ROOT / words[2].replace(".", "/")).with_suffix(".py").is_file(), text
