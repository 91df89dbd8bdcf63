"""The CLIK law as compiled code and as plain Python, and what is compiled late."""

import numpy as np
import pytest
from arms import random_state
from fresh import output_of

import manip_dyn as md
from manip_dyn.clik import ClikSettings, Line, Pose, Waypoints
from manip_dyn.clik.follower import tracking_arguments, tracking_engine
from manip_dyn.clik.law.joint_velocity import joint_velocity
from manip_dyn.clik.law.settings import INVERSES, Task, law_memory
from manip_dyn.clik.paths.path import evaluate_path
from manip_dyn.clik.samples import fill_row, row_size

PLAIN = """
import sys
import numba
import numpy as np
from manip_dyn.clik.law.joint_velocity import joint_velocity
from manip_dyn.clik.paths.path import evaluate_path
from manip_dyn.clik.samples import fill_row
from manip_dyn.clik.law.poses import pose_error

assert numba.config.DISABLE_JIT
given = dict(np.load(sys.argv[1]))
for k in range(int(given["count"])):
    q, desired, memory = (given[f"{name}{k}"] for name in ("q", "desired", "memory"))
    evaluate_path(float(given["t"]), given[f"path{k}"], desired)
    v, row = np.zeros(len(q) + 1), np.zeros(36 + 3 * len(q))
    v[-1] = joint_velocity(q, desired, memory, v)
    fill_row(0.0, np.append(q, 0.0), v, memory, row)
    given[f"v{k}"], given[f"row{k}"] = v, row
np.savez(sys.argv[2], **given)
"""
TIME = 0.7
TURNED = Pose(np.array([0.1, 0.5, 0.7]), np.diag([-1.0, 1.0, -1.0]))


@pytest.fixture(scope="module")
def pa10():
    return md.load_robot("pa10")


def cases(robot):
    """Yield settings, path and posture that lead through all parts of the law."""
    q = random_state(robot, np.random.default_rng(5))[0]
    first = Pose(np.array([0.0, 0.4, 0.6]), np.eye(3))
    line = Line(first, TURNED)
    spline = Waypoints([first, Pose(np.array([0.1, 0.4, 0.6]), np.eye(3)), TURNED])
    yield ClikSettings(), line, q
    yield ClikSettings(orientation_error="log"), spline, q
    yield ClikSettings(orientation_error="quaternion"), line, np.zeros(robot.n)
    for inverse in INVERSES:
        yield ClikSettings(inverse=inverse, damping_threshold=0.9), line, q
    yield ClikSettings(posture=q, posture_gain=1.0, limit_avoidance=1.0), line, 0.9 * q
    yield ClikSettings(manipulability=1.0, controlled=[True] * 3 + [False] * 3), line, q


def test_another_robot_is_tracked_by_the_same_machine_code(pa10):
    """Its kinematics alone are compiled."""
    heavier, path = md.load_robot("pa10", mass_scale=1.1), next(cases(pa10))[1]
    ours, theirs = (tracking_engine(each, path.function, "rk4") for each in (pa10, heavier))
    assert ours.advance is theirs.advance
    assert tracking_arguments(pa10, path.parameters, path.parameters).kinematics != (
        tracking_arguments(heavier, path.parameters, path.parameters).kinematics
    )


def test_plain_python_computes_what_compiled_code_does(pa10, tmp_path):
    given, expected = {"t": np.float64(TIME)}, []
    for k, (settings, path, q) in enumerate(cases(pa10)):
        memory = law_memory(pa10, settings, 0.1)
        desired, v, row = Task(memory).desired, np.zeros(8), np.zeros(row_size(7))
        md.customize(pa10).in_place.kinematics(q, Task(memory).actual)
        given |= {f"q{k}": q, f"path{k}": path.parameters, f"memory{k}": memory.copy()}
        given[f"desired{k}"] = desired.copy()
        evaluate_path(TIME, path.parameters, desired)
        v[-1] = joint_velocity(q, desired, memory, v)
        fill_row(0.0, np.append(q, 0.0), v, memory, row)
        expected.append((v, row))
    given["count"] = np.int64(len(expected))
    np.savez(tmp_path / "given.npz", **given)
    output_of(PLAIN, tmp_path / "given.npz", tmp_path / "found.npz", NUMBA_DISABLE_JIT="1")
    found = np.load(tmp_path / "found.npz")
    for k, (v, row) in enumerate(expected):
        np.testing.assert_allclose(found[f"v{k}"], v, rtol=1e-9, atol=1e-11, err_msg=str(k))
        kept = np.r_[0:12, 36 : row_size(7)]  # the desired pose was evaluated elsewhere
        np.testing.assert_allclose(found[f"row{k}"][kept], row[kept], rtol=1e-9, atol=1e-11)


FIRST = """
import sys
import numpy as np
import manip_dyn as md
from manip_dyn.core.compiled import MachineCode

def noted(self, types, context, load=MachineCode.load_overload):
    needed.add(self._path(types).stem)
    return load(self, types, context)

needed, MachineCode.load_overload = set(), noted
robot = md.load_robot(sys.argv[1])
goal = md.customize(robot).forward_kinematics(np.full(robot.n, float(sys.argv[2])))
path = md.Target((goal[:3, 3], goal[:3, :3]))
q0 = np.full(robot.n, float(sys.argv[3]))
if len(sys.argv) > 4:
    md.PathFollower(robot, path, q0, 0.05)
else:
    md.track(robot, path, "rk4", 0.05, q0, duration=1.0)
print(*needed)
"""


def test_the_law_is_compiled_once_for_all_robots_and_what_is_rare_when_needed():
    def needed(*arguments):
        """Return what a process compiles or loads, keys by names."""
        found = {}
        for name, _, key in (
            each.rpartition("-") for each in output_of(FIRST, *arguments).split()
        ):
            found.setdefault(name, set()).add(key)
        return found

    first = needed("pa10", "0.4", "0.5")
    assert len(first["joint_velocity"]) == len(first["evaluate_path"]) == len(first["rate"]) == 1
    assert not {"add_escape", "desired_null_velocity", "_spline"} & first.keys()
    second = needed("cylindrical", "0.2", "0.1")
    for name in ("joint_velocity", "evaluate_path", "rate", "look"):
        assert second[name] == first[name]
    ready = needed("pa10", "0.4", "0.5", "ready")
    assert {"add_escape", "desired_null_velocity", "_spline"} <= ready.keys()
