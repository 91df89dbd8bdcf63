"""Scripts of examples/ that are nodes."""

import pytest
from example_scripts import SCRIPTS, check


@pytest.mark.parametrize(
    "file",
    [script for script in SCRIPTS if "import rclpy" in script.read_text(encoding="utf-8")],
    ids=lambda file: file.stem,
)
def test_a_node_prints_its_documented_output_and_draws(file, monkeypatch, capfd):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    check(file, monkeypatch, capfd)
