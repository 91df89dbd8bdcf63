"""The linters of ROS, configured in setup.cfg, report nothing."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHECKED = ["bin", "launch", "manip_dyn", "test", "setup.py"]
DOCUMENTED = ["launch", "manip_dyn", "setup.py"]


def test_flake8_finds_nothing(monkeypatch):
    flake8 = pytest.importorskip("ament_flake8.main", reason="ament_flake8 is not installed")
    monkeypatch.chdir(ROOT)
    code, errors = flake8.main_with_errors(argv=["--config", "setup.cfg", *CHECKED])
    assert code == 0, "\n".join(errors)


def test_pep257_finds_nothing(monkeypatch):
    pep257 = pytest.importorskip("ament_pep257.main", reason="ament_pep257 is not installed")
    monkeypatch.chdir(ROOT)
    style = ["--convention", "google", "--add-ignore", "D105", "D402", "--"]
    assert pep257.main(argv=[*style, *DOCUMENTED]) == 0
