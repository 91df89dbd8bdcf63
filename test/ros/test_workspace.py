"""A colcon workspace with this package, whose launch files run under ros2 launch.

Requires colcon, launch, launch_ros and ros2cli, which have no wheels; skipped without them.
"""

import importlib.util
import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from harness import TIMEOUT
from sensor_msgs.msg import JointState

from manip_dyn.demo import ANY_ROBOT, SCENARIOS, scenario

ROOT = Path(__file__).parents[2]
LAUNCH = sorted(path.name.removesuffix(".launch.py") for path in (ROOT / "launch").glob("*.py"))
NAMES = {item.name for item in SCENARIOS}
SCENARIO_OF = {"bang_bang": "ibm7535_zero_net_work", "scenario": "stiff_pendulum"}
"""Launch files with a scenario argument."""
FIXED = {"posts": "ibm7535_minimum_time"}
"""Other launch files and their scenarios."""
MISSING = [
    *(name for name in ("colcon", "ros2") if shutil.which(name) is None),
    *(name for name in ("launch_ros", "ros2launch") if importlib.util.find_spec(name) is None),
]
pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
STAND_IN = """#!/bin/sh
trap 'exit 0' INT
echo "$0 got: $*"
while :; do sleep 0.1; done
"""


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Return the environment of a shell that sourced a workspace with this package."""
    folder = tmp_path_factory.mktemp("workspace")
    outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = _run(["colcon", "build", "--base-paths", str(ROOT)], outside, cwd=folder)
    assert done.returncode == 0, done.stderr
    sourced = _run(
        ["bash", "-c", "source install/local_setup.bash && env -0"], outside, cwd=folder
    )
    return dict(line.split("=", 1) for line in sourced.stdout.split("\0") if "=" in line)


def _run(command, environment, **options):
    return subprocess.run(
        command,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
        **options,
    )


class Launched:
    """`ros2 launch` of one file, ended by SIGINT as by Ctrl-C."""

    def __init__(self, environment, name, *arguments):
        command = ["ros2", "launch", "manip_dyn", f"{name}.launch.py", *arguments]
        self.process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
            preexec_fn=_restore_interrupts,
        )

    def end(self, interrupt=True):
        """Return exit code and output once the process has ended, by default by SIGINT."""
        if interrupt and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            text, _ = self.process.communicate(timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            raise
        return self.process.returncode, text


def _restore_interrupts():
    """Restore SIGINT, which shells ignore in background processes."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("name", sorted(NAMES | set(SCENARIO_OF) | set(FIXED)))
def test_every_launch_file_runs_and_ends(workspace, ros, name):
    chosen = scenario((SCENARIO_OF | FIXED).get(name, name))
    arguments = [f"scenario:={chosen.name}"] if name in SCENARIO_OF else []
    arguments += ["urdf:=pa10"] if name == ANY_ROBOT else []
    states = ros.listen(JointState, "joint_states", 10)
    launched = Launched(workspace, name, *arguments)
    try:
        ros.until(lambda: states or launched.process.poll() is not None, "no joint states")
        alive = launched.process.poll() is None
        ros.until(lambda: not alive or set(chosen.nodes) <= set(_names(ros)), "nodes are missing")
    finally:
        code, text = launched.end()
    assert alive, text
    assert code == 0, text
    assert "Traceback" not in text, text
    assert text.count("has finished cleanly") == len(chosen.nodes), text


def _names(ros):
    return ros.probe.get_node_names()


@pytest.mark.parametrize("name", sorted(set(LAUNCH) - NAMES - set(SCENARIO_OF) - set(FIXED)))
def test_a_launch_file_reports_missing_packages(workspace, name):
    launched = Launched(workspace, name)
    head = [launched.process.stdout.readline() for _ in range(4)]
    code, text = launched.end()
    text = "".join(head) + text
    assert code == 0 or "requires" in text or "needs" in text, text
    assert "Traceback" not in text, text


def test_invalid_arguments_end_with_an_error(workspace):
    for argument in ("scenario:=nope", "params_file:=/nowhere.yaml"):
        code, text = Launched(workspace, "scenario", argument).end(interrupt=False)
        # ros2 launch exits with 0 after a required node has exited with 2.
        assert code != 0 or "exit code 2" in text, text
        assert argument.partition(":=")[2] in text, text
        assert "Traceback" not in text, text


def test_rviz_and_robot_state_publisher_are_started(workspace, tmp_path):
    for package in ("robot_state_publisher", "rviz2"):
        index = tmp_path / "share" / "ament_index" / "resource_index" / "packages" / package
        program = tmp_path / "lib" / package / package
        manifest = tmp_path / "share" / package / "package.xml"
        for path, text in ((index, ""), (manifest, ""), (program, STAND_IN)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        program.chmod(0o755)
    prefixes = f"{tmp_path}:{workspace['AMENT_PREFIX_PATH']}"
    launched = Launched(workspace | {"AMENT_PREFIX_PATH": prefixes}, "pa10_circle", "rviz:=true")
    lines = []
    for line in launched.process.stdout:
        lines.append(line)
        if sum("got:" in line for line in lines) == 2:
            break
    code, rest = launched.end()
    text = "".join(lines) + rest
    assert code == 0, text
    for package in ("robot_state_publisher", "rviz2"):
        assert f"{package} got: " in text


def test_the_command_is_on_path(workspace):
    command_path = shutil.which("manip_dyn", path=workspace["PATH"])
    assert command_path is not None
    assert Path(command_path).is_relative_to(workspace["AMENT_PREFIX_PATH"].split(":")[0])
    for command in (["manip_dyn", "robots"], ["ros2", "run", "manip_dyn", "manip_dyn", "robots"]):
        done = _run(["bash", "-c", " ".join(command)], workspace)
        assert done.returncode == 0, done.stderr
        assert "pa10" in done.stdout
    prefix = _run(["ros2", "pkg", "prefix", "manip_dyn"], workspace)
    assert prefix.stdout.strip() == workspace["AMENT_PREFIX_PATH"].split(":")[0]
