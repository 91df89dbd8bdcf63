"""Nodes as processes: exit codes, floods of commands, complete runs of the demo."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import rclpy
from harness import TIMEOUT, start_node
from running import alive, wait_until
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manip_dyn import ManipDynError
from manip_dyn.demo import Run, perform_run, scenario
from manip_dyn.ros import report_unraisable

SHARE = Path(__file__).parents[2]
CONFIG = SHARE / "config"


def demo(*arguments, timeout=2.0 * TIMEOUT):
    command = [sys.executable, "-m", "manip_dyn", "demo", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)


def performed(name, label, **overrides):
    """Perform a run with ``node__parameter`` set, check its bounds and return its summary."""
    named = scenario(name)
    (run,) = [candidate for candidate in named.runs if candidate.label == label]
    pairs = [(key.split("__"), value) for key, value in overrides.items()]
    own = tuple((*where, str(value)) for where, value in pairs)
    summary = perform_run(named, run._replace(overrides=run.overrides + own), lambda _: None)
    assert {key: summary[key] for key, most in run.bounds.items() if summary[key] > most} == {}
    return summary


PLANNED = {"simulator__control_period": 0.008, "bang_bang_planner__control_period": 0.008}
"""An eighth of the scenarios' 1 kHz: every period takes a message in each direction."""


def test_lockstep_motion_is_exact_and_bit_identical_from_run_to_run():
    runs = [performed("ibm7535_zero_net_work", "lockstep", **PLANNED) for _ in range(2)]
    assert runs[0]["log_sha256"] == runs[1]["log_sha256"]
    assert runs[0]["missed_samples"] == 0
    assert runs[0]["final_position_error"] < 1e-6
    assert runs[0]["final_velocity"] < 1e-5
    assert runs[0]["final_time_s"] == pytest.approx(1.14982, abs=1e-4)


def test_a_demo_arrives_at_1_khz_without_a_loss():
    done = demo("ibm7535_minimum_time", "--mode", "lockstep", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["scenarios"]["ibm7535_minimum_time"]["lockstep"]
    assert summary["final_position_error"] < 1e-6
    assert summary["missed_samples"] == 0
    assert summary["extra_time_s"] < 1e-6
    assert summary["new_motions"] == 0


def test_wrong_masses_cost_time():
    summary = performed("cylindrical_zero_net_work", "wrong_masses", **PLANNED)
    assert summary["final_position_error"] < 1e-3
    assert 0.0 < summary["extra_time_s"] < 3.0


def test_computed_torque_keeps_the_circle_in_lockstep():
    part = {"monitor__duration": 1.5, "monitor__settle": 1.0}
    periods = {"simulator__control_period": 0.005, "clik_tracker__step": 0.005}
    summary = performed("pa10_dynamic_circle", "lockstep", **periods, **part)
    assert summary["missed_samples"] == 0
    assert summary["samples"] > 250
    assert summary["steady_position_error_m"] <= 1e-6


def test_singularity_is_passed_and_left():
    faster = {"clik_tracker__step": 0.02, "clik_tracker__real_time_factor": 10.0}
    summary = performed("pa10_singularity", "kinematic", **faster)
    assert summary["smallest_singular_value"] < 0.04
    assert summary["final_position_error_m"] <= 1e-6


def test_any_urdf_draws_the_figure():
    urdf = SHARE / "urdf" / "pa10.urdf"
    done = demo("panda_lissajous", "--urdf", str(urdf), "--json")
    assert done.returncode == 0, done.stderr
    rejected = demo("pa10_circle", "--urdf", str(urdf))
    assert rejected.returncode == 2
    assert "has a fixed robot" in rejected.stderr


def test_circle_is_tracked_within_a_micrometre():
    done = demo("pa10_circle", "--mode", "kinematic", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)["scenarios"]["pa10_circle"]["kinematic"]
    assert summary["steady_position_error_m"] <= 1e-6
    assert summary["path_time_s"] >= summary["lap_s"]


@pytest.mark.parametrize(
    ("module", "file", "number"),
    [
        ("simulator", "ibm7535_zero_net_work.yaml", signal.SIGINT),
        ("simulator", "ibm7535_zero_net_work.yaml", signal.SIGTERM),
        ("bang_bang_planner", "ibm7535_zero_net_work.yaml", signal.SIGINT),
        ("bang_bang_planner", "ibm7535_zero_net_work.yaml", signal.SIGTERM),
        ("clik_tracker", "pa10_circle.yaml", signal.SIGTERM),
        ("clik_tracker", "pa10_dynamic_circle.yaml", signal.SIGINT),
    ],
)
def test_a_node_ends_with_exit_code_0(ros, module, file, number):
    node = start_node(module, "--params-file", str(CONFIG / file), "-r", "__ns:=/other")
    try:
        name = f"/other/{module}"
        ros.until(
            lambda: name in [f"{ns}/{n}" for n, ns in ros.probe.get_node_names_and_namespaces()],
            f"{name} does not come up",
        )
        first = node.stdout.readline()  # the robot, before anything is compiled
        ros.spin(0.3)
        node.send_signal(number)
        output = first + node.stdout.read()
        node.wait(TIMEOUT)
    finally:
        node.kill()
    assert node.returncode == 0, output
    assert "Traceback" not in output
    assert f"[other.{module}]: robot '" in first
    assert "joints (" in first
    assert " Hz" in first or "lockstep in periods of" in first


class PartiallyConstructed:
    """An object whose constructor was interrupted by a signal."""

    def __init__(self, error):
        self.error = error

    def __del__(self):
        raise self.error


@pytest.mark.parametrize("running", [True, False])
def test_errors_in_destructors_are_reported_only_while_running(running, monkeypatch, capsys):
    monkeypatch.setattr(rclpy, "ok", lambda: running)
    monkeypatch.setattr(sys, "unraisablehook", report_unraisable)
    PartiallyConstructed(AttributeError("incomplete"))
    assert ("incomplete" in capsys.readouterr().err) == running


INTERRUPTED = """
import signal
from manip_dyn.ros import run

class Interrupted:
    def __init__(self):
        signal.raise_signal(signal.SIGINT)
        self.complete = True

    def __del__(self):
        self.complete

class Component:
    name = "interrupted"

    def __init__(self, node):
        self.node = node
        node.create_timer(0.01, Interrupted)

    def close(self):
        pass

raise SystemExit(run(Component))
"""


def test_a_signal_during_a_constructor_prints_nothing():
    """Regression: Ctrl-C during the construction of an rclpy Task printed a traceback."""
    line = [sys.executable, "-c", INTERRUPTED]
    process = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT)
    assert (process.returncode, process.stderr) == (0, "")


OWN = """
import rclpy
from manip_dyn.core import run_uninterrupted

rclpy.init()
node = rclpy.create_node("own")
try:
    run_uninterrupted(int)  # as during every compilation
    print("begun", flush=True)
    rclpy.spin(node)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_a_user_node_ends_by_ctrl_c_after_a_compilation():
    """Regression: the node did not end because rclpy's signal handler was lost."""
    process = subprocess.Popen([sys.executable, "-c", OWN], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "begun\n"
        time.sleep(0.2)  # the node spins by then; before that, any Ctrl-C ends it
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=TIMEOUT)[0] == "interrupted\n"
    finally:
        process.kill()
        process.wait()


def test_a_flood_of_commands_neither_stops_nor_slows_the_simulator(ros):
    node = start_node("simulator", "-p", "robot:=ibm7535")
    try:
        states = ros.listen(JointState, "joint_states")
        commands = ros.publisher(Float64MultiArray, "simulator/commands")
        ros.until(lambda: states, "no joint states")
        began = time.monotonic()
        for k in range(3000):
            commands.publish(Float64MultiArray(data=[k / 1000.0, 0.0]))
            time.sleep(max(0.0, began + k / 10_000 - time.monotonic()))
        ros.until(lambda: states[-1].effort[0] == 2.999, "the last command does not hold")
        before = len(states)
        ros.until(lambda: len(states) > before + 100, "the simulator stopped")
    finally:
        node.send_signal(signal.SIGINT)
        output = node.communicate(timeout=TIMEOUT)[0]
    assert node.returncode == 0, output


def test_a_failed_node_is_reported_with_the_end_of_its_log():
    broken = Run("broken", "", (("simulator", "robot", "no_such_robot"),), {})
    with pytest.raises(ManipDynError) as error:
        perform_run(scenario("ibm7535_zero_net_work"), broken, lambda _: None)
    assert "'simulator' exited with code 2" in str(error.value)
    assert "no_such_robot" in str(error.value)


def test_a_run_without_end_times_out():
    nowhere = (
        ("simulator", "mode", "lockstep"),
        ("bang_bang_planner", "command_topic", "nowhere"),
    )
    run = Run("waiting", "", nowhere, {}, timeout=4.0)
    with pytest.raises(ManipDynError, match="did not finish within 4 s"):
        perform_run(scenario("ibm7535_zero_net_work"), run, lambda _: None)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_demo_and_leaves_no_node_behind(number):
    command = [sys.executable, "-m", "manip_dyn", "demo", "pa10_circle"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        text=True,
    )
    while "pa10_circle" not in process.stdout.readline():
        assert process.poll() is None, "the demo ended early"
    time.sleep(2.0)  # nodes have been started
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal's Ctrl-C does
    else:
        process.send_signal(number)
    process.communicate(timeout=TIMEOUT)
    assert process.returncode == 128 + number
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def children(pid):
    """Return all descendants of a process."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    own = [int(word) for file in lists for word in file.read_text().split()]
    return [process for child in own for process in (child, *children(child))]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_nodes_end_when_their_demo_is_killed():
    """Regression: the nodes continued to publish for days."""
    command = [sys.executable, "-m", "manip_dyn", "demo", "pa10_circle"]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True)
    wait_until(lambda: len(children(process.pid)) >= 2 or process.poll() is not None)
    nodes = children(process.pid)
    process.kill()
    process.wait()
    try:
        assert len(nodes) >= 2
        wait_until(lambda: not any(map(alive, nodes)))
    finally:
        for node in filter(alive, nodes):
            os.kill(node, signal.SIGKILL)


def test_unknown_scenario_is_one_line_and_exit_code_2():
    done = demo("pa10_circel")
    assert done.returncode == 2
    assert done.stderr.strip() == (
        "manip_dyn: scenario must be a shipped scenario, got 'pa10_circel'; "
        "did you mean 'pa10_circle'?"
    )
