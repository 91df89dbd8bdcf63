"""The scripts of examples/ that are nodes."""

import pytest
from example_scripts import SCRIPTS, check


@pytest.mark.parametrize(
    "file",
    [each for each in SCRIPTS if "import rclpy" in each.read_text(encoding="utf-8")],
    ids=lambda file: file.stem,
)
def test_a_node_prints_and_draws_what_it_says(file, monkeypatch, capfd):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    check(file, monkeypatch, capfd)
