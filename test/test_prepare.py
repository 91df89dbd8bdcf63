"""`manip_dyn prepare`: commands and examples compile nothing afterwards."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fresh import output_of

from manip_dyn import prepare as preparing
from manip_dyn.cli import main
from manip_dyn.core import cache_directory, share_directory, write_atomically
from manip_dyn.integration import METHODS
from manip_dyn.prepare import JOBS, USED, waves

USES = """
import numpy as np
import manip_dyn as md
robot = md.load_robot("pa10")
q, rest = np.array([0.0, 0.5, 0.0, 0.9, 0.0, 0.4, 0.0]), np.zeros(7)
md.customize(robot).forward_dynamics(q, rest, rest)
for options in {}, {"method": "rkdp54"}, {"method": "rkdp54", "rtol": 1e-8}:
    assert md.simulate(robot, q, rest, rest, 0.01, **options).success
assert md.simulate_many(robot, [q, q], rest, rest, 0.01).success.all()
tool = md.customize(robot).forward_kinematics(q)
circle = md.Circle(tool[:3, 3] - [0.1, 0, 0], [0, 0, 1], [1, 0, 0], tool[:3, :3], 0.02)
for method in "rk4", "rkdp54":
    assert md.track(robot, circle, method, q0=q, duration=0.3).position_error[-1] < 1e-3
assert md.plan_zero_net_work(robot, q, q + 0.1).t_final > 0.0
"""


STIFF = """
from manip_dyn.prepare import BY_METHOD, JOBS, USED
from manip_dyn.robot import load_robot
robot = load_robot("stiff_pendulum")
JOBS["simulate"](robot)
for method in USED[robot.name]:
    BY_METHOD["simulate"](robot, method)
"""
CACHED = (".machine_code", ".template", ".py")
"""Suffixes of files of the cache."""


def machine_code(folder):
    return {path for path in Path(folder).rglob("*") if path.suffix in (".machine_code", ".nbc")}


def test_a_fresh_process_compiles_nothing_after_prepare(tmp_path):
    environment = os.environ | {
        "MANIP_DYN_CACHE": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
    }
    prepared = [sys.executable, "-m", "manip_dyn", "prepare", "pa10", "--method", "rkdp54"]
    with subprocess.Popen(prepared, env=environment, stdout=subprocess.PIPE, text=True) as process:
        output = process.stdout.read()
    assert process.returncode == 0, output
    assert "6 jobs in" in output
    assert str(tmp_path) in output
    before = machine_code(tmp_path)
    assert before
    output_of(USES, **environment)
    assert machine_code(tmp_path) == before
    share_cache(tmp_path)


def share_cache(folder):
    """Copy compiled code to the cache of the other tests; file names identify their content."""
    for path in folder.iterdir():
        if path.suffix in CACHED and not (cache_directory() / path.name).exists():
            write_atomically(cache_directory() / path.name, path.read_bytes())


def test_the_methods_of_scenarios_and_examples_are_prepared():
    files = [*Path(__file__).parents[1].glob("examples/*.py")]
    files += [
        file for file in share_directory().glob("config/*.yaml") if "/**/" in file.read_text()
    ]
    words = {word for file in files for word in re.findall(r"\w+", file.read_text())}
    assert words & {*METHODS} - {"rk4"} == {
        method for methods in USED.values() for method in methods
    }


def test_a_stiff_arm_is_prepared_for_explicit_methods():
    output_of(STIFF, NUMBA_DISABLE_JIT="1")


def test_every_method_is_a_separate_job():
    of_all = jobs_of("rr", "--method", "all")
    methods = {method.name for method in METHODS.values()}
    assert {(job.kind, job.method) for job in of_all if job.method} == {
        (kind, method) for kind in ("simulate", "track") for method in methods
    }
    assert len(of_all) == len({*of_all}) == len(JOBS) + 2 * len(methods)
    assert jobs_of("pa10") == [job for job in jobs_of("pa10", "--method", "rk8") if not job.method]


def jobs_of(*arguments):
    """Return the jobs that `prepare` would run."""
    requested = []

    def solved(robots, _processes, methods):
        requested.extend(
            job for chains in waves(robots, methods) for jobs in chains for job in jobs
        )
        return iter(())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparing, "prepare", solved)
        assert main(["prepare", *arguments]) == 0
    return requested


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_sigterm_ends_all_processes_and_leaks_nothing():
    command = [sys.executable, "-m", "manip_dyn", "prepare", "--processes", "1"]
    # The first jobs are short because they are cached; the others take a while.
    command += ["pa10", "rr", "ibm7535", "cylindrical", "ur5"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    end = time.monotonic() + 600.0
    assert process.stdout.readline(), (
        process.communicate()
    )  # the first job is done, so the pool exists
    pids = children.read_text().split()
    assert len(pids) >= 2  # the pool and the resource tracker
    process.terminate()
    _, errors = process.communicate(timeout=600.0)
    assert (process.returncode, errors) == (143, "\nmanip_dyn: stopped\n")
    for pid in pids:
        while Path(f"/proc/{pid}/stat").exists() and _runs(pid):
            assert time.monotonic() < end
            time.sleep(0.01)


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["pa11"], "robot 'pa11' is not shipped"),
        (
            ["pa10", "--method", "rodas5"],
            "method must be an integration method, got 'rodas5'; did you mean",
        ),
        (["pa10", "--processes", "-1"], "processes must be at least 0, got -1"),
    ],
)
def test_bad_input_is_reported_in_one_line(capsys, arguments, words):
    assert main(["prepare", *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("manip_dyn: ")
    assert words in line


def test_prepare_requires_the_compiler(capsys, monkeypatch):
    monkeypatch.setattr(preparing, "PLAIN", True)
    assert main(["prepare", "rr"]) == 2
    assert "NUMBA_DISABLE_JIT must be unset" in capsys.readouterr().err


def test_a_cache_that_is_not_writable_is_rejected(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path / "file" / "cache"))
    assert main(["prepare", "rr"]) == 2
    assert "must be writable" in capsys.readouterr().err
