"""`manip_dyn prepare`: afterwards nothing is compiled; bad input is one line."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from fresh import Popen, output_of

from manip_dyn import prepare as preparing
from manip_dyn.cli import main
from manip_dyn.core.cache import cache_directory
from manip_dyn.core.files import share_directory, write_atomically
from manip_dyn.integration import METHODS
from manip_dyn.prepare import JOBS, USED, waves

USES = """
import numpy as np
import manip_dyn as md
robot = md.load_robot("pa10")
q, rest = np.array([0.0, 0.5, 0.0, 0.9, 0.0, 0.4, 0.0]), np.zeros(7)
md.customize(robot).forward_dynamics(q, rest, rest)
for how in {}, {"method": "rkdp54"}, {"method": "rkdp54", "rtol": 1e-8}:
    assert md.simulate(robot, q, rest, rest, 0.01, **how).success
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
KEPT = (".machine_code", ".template", ".py")
"""What a cache has."""


def machine_code(folder):
    return {path for path in Path(folder).rglob("*") if path.suffix in (".machine_code", ".nbc")}


def test_after_it_a_fresh_process_compiles_nothing(tmp_path):
    surroundings = os.environ | {
        "MANIP_DYN_CACHE": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
    }
    prepared = [sys.executable, "-m", "manip_dyn", "prepare", "pa10", "--method", "rkdp54"]
    with Popen(prepared, env=surroundings, stdout=subprocess.PIPE, text=True) as process:
        said = process.stdout.read()
    assert process.returncode == 0, said
    assert "6 jobs in" in said
    assert str(tmp_path) in said
    before = machine_code(tmp_path)
    assert before
    output_of(USES, **surroundings)
    assert machine_code(tmp_path) == before
    hand_on(tmp_path)


def hand_on(folder):
    """Let other tests have what this one compiled in an empty cache; names say what files hold."""
    for path in folder.iterdir():
        if path.suffix in KEPT and not (cache_directory() / path.name).exists():
            write_atomically(cache_directory() / path.name, path.read_bytes())


def test_the_methods_of_scenarios_and_examples_are_prepared():
    """Those of the papers' files aside, which are for `study`."""
    files = [*Path(__file__).parents[1].glob("examples/*.py")]
    files += [
        file for file in share_directory().glob("config/*.yaml") if "/**/" in file.read_text()
    ]
    words = {word for file in files for word in re.findall(r"\w+", file.read_text())}
    assert words & {*METHODS} - {"rk4"} == {method for each in USED.values() for method in each}


def test_a_stiff_arm_is_prepared_for_by_explicit_methods_too():
    """Seen: "not for this one", because it diverged with steps of a millisecond."""
    output_of(STIFF, NUMBA_DISABLE_JIT="1")


def test_each_method_is_a_job_of_its_own():
    """All of them: each by its own name, once."""
    of_all = jobs_of("rr", "--method", "all")
    methods = {method.name for method in METHODS.values()}
    assert {(job.kind, job.method) for job in of_all if job.method} == {
        (kind, method) for kind in ("simulate", "track") for method in methods
    }
    assert len(of_all) == len({*of_all}) == len(JOBS) + 2 * len(methods)
    assert jobs_of("pa10") == [job for job in jobs_of("pa10", "--method", "rk8") if not job.method]


def jobs_of(*arguments):
    """Return the jobs that `prepare` would do."""
    found = []

    def solved(robots, _processes, methods):
        found.extend(job for chains in waves(robots, methods) for jobs in chains for job in jobs)
        return iter(())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preparing, "prepare", solved)
        assert main(["prepare", *arguments]) == 0
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_a_sigterm_ends_its_processes_and_leaves_nothing_to_be_told():
    """Seen: "resource_tracker: There appear to be 4 leaked semaphore objects"."""
    command = [sys.executable, "-m", "manip_dyn", "prepare", "--processes", "1"]
    # What is compiled already makes the first jobs short; all others last for a while.
    command += ["pa10", "rr", "ibm7535", "cylindrical", "ur5"]
    process = Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    end = time.monotonic() + 600.0
    assert process.stdout.readline(), process.communicate()  # jobs are done: the pool is there
    found = children.read_text().split()
    assert len(found) >= 2  # the pool's, and who tracks resources
    process.terminate()
    _, errors = process.communicate(timeout=600.0)
    assert (process.returncode, errors) == (143, "\nmanip_dyn: stopped\n")
    for each in found:
        while Path(f"/proc/{each}/stat").exists() and _runs(each):
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
        (["pa10", "--method", "rodas5"], "method is 'rodas5', which is no method; did you mean"),
        (["pa10", "--processes", "-1"], "processes is -1; expected 1 or more"),
    ],
)
def test_bad_input_is_one_line(capsys, arguments, words):
    assert main(["prepare", *arguments]) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert line.startswith("manip_dyn: ")
    assert words in line


def test_without_the_compiler_nothing_is_prepared(capsys, monkeypatch):
    """Seen: it ran for 8 s, and told that what had not been compiled was kept."""
    monkeypatch.setattr(preparing, "PLAIN", True)
    assert main(["prepare", "rr"]) == 2
    assert "NUMBA_DISABLE_JIT is set" in capsys.readouterr().err


def test_a_cache_that_cannot_be_written_is_refused(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MANIP_DYN_CACHE", str(tmp_path / "file" / "cache"))
    assert main(["prepare", "rr"]) == 2
    assert "cannot be written" in capsys.readouterr().err
