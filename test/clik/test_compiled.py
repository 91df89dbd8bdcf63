"""The CLIK law in compiled code and in plain Python, and the functions compiled on first use."""

import json

import numpy as np
from fresh import output_of

import manip_dyn as md
from manip_dyn.clik import INVERSES, Pose

POSE = Pose(np.array([0.0, 0.4, 0.6]), np.eye(3))
TURNED = Pose(np.array([0.1, 0.5, 0.7]), np.diag([-1.0, 1.0, -1.0]))


def motions():
    """Return joint positions, velocities and errors of motions through all branches of the law."""
    robot = md.load_robot("pa10")
    q = np.random.default_rng(5).uniform(0.3, 0.9, robot.n)
    line = md.Line(POSE, TURNED)
    spline = md.Waypoints([POSE, Pose(np.array([0.1, 0.4, 0.6]), np.eye(3)), TURNED])
    cases = [
        (md.ClikSettings(), line, q),
        (md.ClikSettings(orientation_error="log"), spline, q),
        (md.ClikSettings(orientation_error="quaternion"), line, np.zeros(robot.n)),
        *(
            (md.ClikSettings(inverse=inverse, damping_threshold=0.9), line, q)
            for inverse in INVERSES
        ),
        (md.ClikSettings(posture=q, posture_gain=1.0, limit_avoidance=1.0), line, 0.9 * q),
        (md.ClikSettings(manipulability=1.0, controlled=[True] * 3 + [False] * 3), line, q),
    ]
    values = []
    for settings, path, start in cases:
        run = md.track(robot, path, "rk4", 0.05, start, 0.15, settings)
        values += [run.q, run.v, run.error, run.damping, run.smallest_singular_value]
    return [value.tolist() for value in values]


PLAIN = """
import json, sys
sys.path.insert(0, sys.argv[1])
from test_compiled import motions
print(json.dumps(motions()))
"""


def test_plain_python_and_compiled_code_agree(request):
    output = output_of(PLAIN, request.path.parent, NUMBA_DISABLE_JIT="1")
    for plain, compiled in zip(json.loads(output), motions(), strict=True):
        np.testing.assert_allclose(plain, compiled, rtol=1e-9, atol=1e-11)


FIRST = """
import sys
import numpy as np
import manip_dyn as md
from manip_dyn.core import machine_code

def record(function, arguments, *ending, load=machine_code.load):
    needed.add(machine_code._path(function, arguments, ".machine_code").stem)
    return load(function, arguments, *ending)

needed, machine_code.load = set(), record
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


def test_the_law_is_compiled_once_for_all_robots_and_its_rare_branches_on_first_use():
    def loaded(*arguments):
        """Return the functions that a process compiles or loads: keys by name."""
        keys = {}
        for name, _, key in (
            entry.rpartition("-") for entry in output_of(FIRST, *arguments).split()
        ):
            keys.setdefault(name, set()).add(key)
        return keys

    first = loaded("pa10", "0.4", "0.5")
    functions = ["rate", "look", "joint_velocity", "evaluate_harmonic"]
    rare = {"scale_error", "desired_null_velocity", "solve_decomposed"}
    assert all(len(first[name]) == 1 for name in functions)
    assert not {*rare, "evaluate_spline"} & first.keys()
    second = loaded("cylindrical", "0.2", "0.1")
    for name in functions:
        assert second[name] == first[name]
    ready = loaded("pa10", "0.4", "0.5", "ready")
    assert rare <= ready.keys()
    singular = loaded("pa10", "0.4", "0.0")
    assert "solve_decomposed" in singular
