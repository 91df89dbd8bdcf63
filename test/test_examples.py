"""The scripts of examples/: short, numbered, and with their expected output."""

import ast
import re
from urllib.request import urlopen

import pytest
from example_scripts import NOTEBOOKS, SCRIPTS, Kernel, check, expected_lines

NODES = [file for file in SCRIPTS if "import rclpy" in file.read_text(encoding="utf-8")]

pytestmark = pytest.mark.skipif(not SCRIPTS, reason="not a checkout")


@pytest.fixture(scope="module")
def kernel():
    """Return a kernel that runs notebooks, or None if Jupyter is not installed."""
    if not NOTEBOOKS:
        yield None
        return
    kernel = Kernel()
    yield kernel
    kernel.close()


@pytest.mark.parametrize(
    "file", [script for script in SCRIPTS if script not in NODES], ids=lambda file: file.stem
)
def test_an_example_prints_its_expected_lines_and_draws_a_picture(
    file, kernel, monkeypatch, capsys
):
    """As a notebook, or as a script if Jupyter is not installed."""
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    if kernel is None:
        check(file, monkeypatch, capsys)
    else:
        kernel.check(file)


def test_a_view_is_part_of_a_notebook(kernel):
    pytest.importorskip("viser", reason="pip install '.[view]'")
    if kernel is None:
        pytest.skip("Jupyter is not installed")
    code = "import manip_dyn as md\nview = md.view('rr', port=0)\nview"
    (data,) = (output["data"] for output in kernel.run(code) if "data" in output)
    (url,) = re.findall(r'<iframe src="([^"]+)"', data["text/html"])
    assert b"<html" in urlopen(url).read()
    kernel.run("view.close()")


def test_examples_are_numbered_without_gaps():
    assert [int(file.name[:2]) for file in SCRIPTS] == list(range(1, len(SCRIPTS) + 1))


def test_the_page_of_the_examples_lists_them():
    page = (SCRIPTS[0].parent / "README.rst").read_text(encoding="utf-8")
    for file in SCRIPTS:
        title = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))).splitlines()[0]
        assert f"* ``{file.name}``: {title}\n" in page


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: file.stem)
def test_an_example_is_short_and_has_a_title(file):
    text = file.read_text(encoding="utf-8")
    code = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    title, underline, *_ = ast.get_docstring(ast.parse(text)).splitlines()
    assert underline == "=" * len(title)
    assert 15 <= len(code) <= 43  # including the three lines of the title
    assert expected_lines(file)
