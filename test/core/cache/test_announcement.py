"""Long compilations are announced once per public function, by its name."""

import os
import threading
import time

import pytest

from manip_dyn.core import Clock, announced
from manip_dyn.core import cache as announcement

SOURCE = """
def simulate(wait):
    _run(wait)

def track(wait):
    _run(wait)

def _run(wait):
    with announced(_run):
        wait()

class Planner:
    def __init__(self, wait):
        simulate(wait)

    def plan(self, wait):
        simulate(wait)
"""


@pytest.fixture(params=["somewhere", "clik", "core_of_it"])
def package(monkeypatch, request):
    """Functions of a module of the package, announced immediately.

    Regression: functions of `clik` were mistaken for functions of `cli`, and not named.
    """
    monkeypatch.setattr(announcement, "ANNOUNCE_AFTER", 0.0)
    for name, empty in (
        ("spent", {}),
        ("announced", set()),
        ("disabled", False),
        ("running", False),
    ):
        monkeypatch.setattr(Clock, name, empty)
    names = {"__name__": f"manip_dyn.{request.param}", "announced": announced}
    exec(SOURCE, names)
    return names


def until_announced(*names):
    def wait():
        end = time.monotonic() + 60.0
        while Clock.announced != set(names):
            assert time.monotonic() < end, f"announced: {Clock.announced}"
            time.sleep(0.001)

    return wait


def test_each_public_function_is_named_once(package, capsys):
    """Regression: only the function that was compiled after 2 s was announced."""
    package["simulate"](until_announced("simulate"))
    package["simulate"](until_announced("simulate"))
    package["track"](until_announced("simulate", "track"))
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(";")[0] for line in lines] == [
        f"manip_dyn: compiling {name} for the first time" for name in ("simulate", "track")
    ]


def test_functions_compiled_in_a_thread_are_not_announced_separately(package, capsys):
    """An announced function compiles others in a thread, in which its own frame is absent."""

    def compile_in_thread():
        thread = threading.Thread(target=package["track"], args=[lambda: time.sleep(0.05)])
        thread.start()
        thread.join()

    package["simulate"](until_announced("simulate"))
    package["simulate"](compile_in_thread)
    assert "compiling track" not in capsys.readouterr().err


def test_an_unusable_cache_is_reported(package, monkeypatch, capsys, tmp_path):
    """Regression: the message named a folder that cannot exist."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path / "file"))
    package["simulate"](until_announced("simulate"))
    message = capsys.readouterr().err
    assert message == "manip_dyn: compiling simulate for the first time; not cached\n"


@pytest.mark.filterwarnings("ignore:.*other users may write it")
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="requires Unix")
def test_a_folder_that_others_may_write_is_not_named(package, monkeypatch, capsys, tmp_path):
    """Regression: the message named a folder into which nothing was written."""
    tmp_path.chmod(0o777)
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path))
    package["simulate"](until_announced("simulate"))
    assert "for the first time; not cached" in capsys.readouterr().err


def test_the_announced_name_is_that_of_the_call(package):
    planner = package["Planner"](until_announced("Planner"))
    planner.plan(until_announced("Planner", "Planner.plan"))
    package["_run"](until_announced("Planner", "Planner.plan", "_run"))


def test_short_compilations_add_up(package, monkeypatch):
    monkeypatch.setattr(announcement, "ANNOUNCE_AFTER", 3600.0)
    package["simulate"](lambda: None)
    assert not Clock.announced
    Clock.spent["simulate"] += 3600.0
    package["track"](lambda: None)
    assert not Clock.announced
    package["simulate"](until_announced("simulate"))


def test_a_process_may_say_nothing(package, capsys):
    announcement.disable_announcements()
    package["simulate"](lambda: time.sleep(0.01))
    assert capsys.readouterr().err == ""
    assert not Clock.announced
