"""The planning process: results, restarts and cancellation."""

import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest
from harness import TIMEOUT
from running import alive, wait_until

from manip_dyn import ManipDynError, clik
from manip_dyn.ros import (
    BangBangPlannerParameters,
    JointGoal,
    OutOfReachError,
    PlanningProcess,
    PlanningTask,
    PoseGoal,
    robot_from,
)

MODULE = PlanningProcess.__module__
PARAMETERS = BangBangPlannerParameters(robot="ibm7535", method="minimum_time")
TASK = PlanningTask(PARAMETERS, JointGoal(np.zeros(2)), np.array([0.975, 0.0]))
OWNER = """
import os
from manip_dyn.ros import BangBangPlannerParameters, PlanningProcess, robot_from
parameters = BangBangPlannerParameters(robot="ibm7535", method="minimum_time")
process = PlanningProcess(parameters, robot_from(parameters), print)
print(process.pid, flush=True)
os.kill(os.getpid(), 9)
"""


@pytest.fixture(scope="module")
def robot():
    return robot_from(PARAMETERS)


@pytest.fixture(scope="module")
def process(robot):
    process = PlanningProcess(PARAMETERS, robot, lambda sentence: process.log.append(sentence))
    process.log = []
    yield process
    process.close()


def always():
    return True


@pytest.mark.parametrize("v", [None, np.array([-1.0, 0.5])], ids=["from rest", "on the way"])
def test_a_plan_is_the_same_from_another_process(process, robot, v):
    task = PlanningTask(PARAMETERS, TASK.aim, TASK.q, v)
    there, here = process.solved(task, always), task.solved(robot)
    for remote, local in zip(there.reference, here.reference, strict=True):
        np.testing.assert_array_equal(remote, local)
    assert there.plan.robot is robot
    assert (there.plan.status, there.plan.t_final) == (here.plan.status, here.plan.t_final)
    assert there.plan.switch_times == here.plan.switch_times
    assert there.net_work == here.net_work
    for (t, effort), (local_t, local_effort) in zip(there.rows, here.rows, strict=True):
        assert t == local_t
        np.testing.assert_array_equal(effort, local_effort)
    for t in (0.0, 0.3, 0.5 * here.plan.t_final):
        np.testing.assert_allclose(there.plan.state(t)[0], here.plan.state(t)[0], atol=1e-10)


def test_the_progress_of_planning_is_reported(process):
    stages = []
    plan = process.solved(TASK, always, stages.append).plan
    assert [progress.stage for progress in stages][-1] == "certificate"
    assert stages[-1].duration == pytest.approx(plan.t_final)
    assert all(progress.elapsed > 0.0 for progress in stages)
    process.solved(TASK, lambda: False, pytest.fail)


def test_the_planning_budget_is_that_of_the_parameters(robot):
    hurried = replace(TASK, parameters=replace(PARAMETERS, planning_budget=1e-9))
    assert "when the time was up" in hurried.solved(robot).plan.reason
    assert "when the time was up" not in TASK.solved(robot).plan.reason


def test_a_portable_plan_is_evaluated_at_many_times_in_one_call(robot):
    """Regression: single evaluations held the interpreter for 30 ms before each motion."""
    plan = TASK.solved(robot).portable().plan
    times = np.linspace(0.0, 0.999 * plan.t_final, 50)
    q, v, effort = plan.motion.at(times)
    for k, t in enumerate(times):
        np.testing.assert_allclose((q[k], v[k]), plan.state(t), atol=1e-12)
        np.testing.assert_allclose(effort[k], plan.effort(t), rtol=1e-12)


def test_errors_are_the_same_from_another_process(process):
    far = PoseGoal(clik.Pose(np.array([9.0, 0.0, 0.0]), np.eye(3)))
    with pytest.raises(OutOfReachError, match="9"):
        process.solved(PlanningTask(PARAMETERS, far, TASK.q), always)


def test_the_process_is_restarted_when_it_dies(process):
    """Between tasks nothing is lost. During planning the error advises to send the goal again."""
    assert process.wait_until_ready(TIMEOUT)
    first = process.pid
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: process.watch() or process.log)
    killed = "the planning process was killed by signal 9"
    assert process.log == [f"{killed}; restarting it"]
    assert process.solved(TASK, always).plan.success
    second = process.pid
    os.kill(second, signal.SIGSTOP)  # a stopped process does not answer
    threading.Timer(0.2, os.kill, (second, signal.SIGKILL)).start()
    with pytest.raises(ManipDynError, match=f"^{killed} during planning; send the goal again$"):
        process.solved(TASK, always)
    assert len({first, second, process.pid}) == 3


def test_a_cancelled_plan_returns_without_delay(process, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.GRACE", 0.0)
    busy = process.pid
    os.kill(busy, signal.SIGSTOP)
    with pytest.raises(ManipDynError, match="cancelled"):
        process.solved(TASK, lambda: False)
    assert not alive(busy)
    assert process.solved(TASK, always).plan.success


def test_a_process_that_cannot_start_is_not_restarted(robot, monkeypatch):
    monkeypatch.setattr(f"{MODULE}.PROGRAM", "manip_dyn.no_such_program")
    log = []
    process = PlanningProcess(PARAMETERS, robot, log.append)
    wait_until(lambda: process.watch() or log)
    for _ in range(3):
        process.watch()
    ended = "the planning process ended with exit code 1 before its first task"
    assert log == [f"{ended}; the next goal restarts it"]
    with pytest.raises(
        ManipDynError, match=f"^{ended} during planning; see its output in the log$"
    ):
        process.solved(TASK, always)
    process.close()


STANDS_STILL = """
import time
time.sleep(600.0)
"""


def test_a_process_that_is_killed_repeatedly_is_restarted_with_warnings(
    robot, monkeypatch, tmp_path
):
    """Regression: "the planning process could not begin", for a process that had begun."""
    (tmp_path / "stands_still.py").write_text(STANDS_STILL)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(f"{MODULE}.PROGRAM", "stands_still")
    log, tries = [], 3
    process = PlanningProcess(PARAMETERS, robot, log.append)
    for _ in range(tries - 1):
        os.kill(process.pid, signal.SIGKILL)
        count = len(log)
        wait_until(lambda: process.watch() or len(log) > count)  # noqa: B023
    killed = "the planning process was killed by signal 9 before its first task"
    assert log == [f"{killed}; restarting it"] * (tries - 1)

    def kill_during_planning():
        os.kill(process.pid, signal.SIGKILL)
        return True

    with pytest.raises(
        ManipDynError, match=f"^{killed} during planning; see its output in the log$"
    ):
        process.solved(TASK, kill_during_planning)
    assert log[tries - 1 :] == [f"{killed}, like the 2 before it; the next goal restarts it"]
    process.close()


def test_the_process_ends_when_its_owner_is_killed():
    owner = subprocess.run([sys.executable, "-c", OWNER], capture_output=True, text=True)
    assert owner.returncode == -signal.SIGKILL
    wait_until(lambda: not alive(int(owner.stdout)))
