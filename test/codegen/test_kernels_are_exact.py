"""The kernels and their equations agree with pinocchio."""

from pathlib import Path

import numpy as np
import pytest
from arms import SHIPPED, examples, load, random_state, random_tree
from fresh import output_of

import manip_dyn as md
from manip_dyn.codegen import Equations
from manip_dyn.robot import Oracle

ARMS = (*SHIPPED, "panda", "ur5", "tree2")
OTHERS = ("kinova", "ur3", "ur10", "xarm7", "z1", "so100")
BOUND = 1e-12
DYNAMICS = (
    ("forward_dynamics", 3),
    ("inverse_dynamics", 3),
    ("mass_matrix", 1),
    ("forward_kinematics", 1),
    ("jacobian", 1),
)
DERIVATIVES = (("forward_dynamics_derivatives", 3), ("inverse_dynamics_derivatives", 3))


def relative(actual, expected):
    """Return the largest error relative to the largest entry."""
    expected = np.asarray(expected)
    return np.abs(np.subtract(actual, expected)).max() / max(1e-3, np.abs(expected).max())


@pytest.mark.parametrize("name", ARMS)
def test_kernels_agree_with_pinocchio(tmp_path, name):
    agree(load(name, tmp_path), 20)


def agree(robot, states):
    """Compare kernels with pinocchio, without dry friction, which pinocchio does not model."""
    kernels, reference = md.customize(robot), Oracle(robot)
    rng = np.random.default_rng(4)
    for _ in range(states):
        state = random_state(robot, rng)
        friction = robot.friction.sliding(state[1], np.abs(state[1]))
        for function, count in (*DYNAMICS, *DERIVATIVES):
            ours = getattr(kernels, function)(*state[:count])
            if function == "forward_dynamics":
                ours = kernels.forward_dynamics(state[0], state[1], state[2] + friction)
            elif function == "inverse_dynamics":
                ours = ours - friction
            theirs = getattr(reference, function)(*state[:count])
            assert relative(ours, theirs) < BOUND, function
        assert relative(kernels.energy(*state[:2]), reference.energy(*state[:2])) < BOUND


PLAIN = """
import sys
sys.path[1:1] = sys.argv[1:3]
import test_kernels_are_exact
getattr(test_kernels_are_exact, sys.argv[3])(*sys.argv[4:])
"""


def as_plain_python(check, *arguments):
    """Call a function of this file without the compiler, which is faster for many robots."""
    folder = Path(__file__).parent
    output_of(PLAIN, folder.parent, folder, check.__name__, *arguments, NUMBA_DISABLE_JIT="1")


def example_robots_agree():
    for name in OTHERS:
        agree(load(name, None), 2)


def test_kernels_of_example_robots_agree_with_pinocchio():
    if not examples():
        pytest.skip("example-robot-data is not installed; pip install '.[test]'")
    as_plain_python(example_robots_agree)


def laws_hold_on_trees(folder):
    for joints in range(1, 10):
        laws_hold(md.load_robot(random_tree(Path(folder), 100 + joints, joints)))


def test_laws_hold_on_random_trees(tmp_path):
    """Compiled for one tree, and as plain Python for trees of all sizes."""
    laws_hold(load("tree2", tmp_path))
    as_plain_python(laws_hold_on_trees, tmp_path)


def laws_hold(robot):
    """Check that M is positive definite, ID inverts FD, and energy changes by the power."""
    kernels, reference = md.customize(robot), Oracle(robot)
    q, v, tau = random_state(robot, np.random.default_rng(robot.n))
    mass = kernels.mass_matrix(q)
    np.testing.assert_array_equal(mass, mass.T)
    assert np.linalg.eigvalsh(mass).min() > 0.0
    a = kernels.forward_dynamics(q, v, tau)
    assert relative(a, reference.forward_dynamics(q, v, tau)) < BOUND
    assert relative(kernels.inverse_dynamics(q, v, a), tau) < BOUND
    power = (tau - robot.damping * v) @ v
    step = 1e-6
    energies = [sum(kernels.energy(q + t * v + 0.5 * t**2 * a, v + t * a)) for t in (-step, step)]
    scale = 1.0 + abs(energies[0]) + abs(power)
    assert (energies[1] - energies[0]) / (2 * step) == pytest.approx(power, abs=1e-7 * scale)


@pytest.mark.parametrize("path", examples(), ids=lambda path: Path(path).stem)
def test_every_example_robot_agrees_with_pinocchio(path):
    """The equations over floats, without compilation, for all robots that can be loaded.

    Mass matrices of humanoids and hands have condition numbers up to 1e7, which limits the
    accuracy of all accelerations.
    """
    try:
        robot = md.load_robot(path)
    except md.ManipDynError as error:
        pytest.skip(f"not supported: {error}")
    equations, reference = Equations(robot, robot.tip_frame), Oracle(robot)
    q, v, a = random_state(robot, np.random.default_rng(1))
    # Random efforts would cause huge accelerations of light fingers.
    tau = reference.inverse_dynamics(q, v, a)
    inverse = np.linalg.inv(reference.mass_matrix(q))
    # Large dampers of light fingers: tau and the bias cancel.
    cancellation = np.linalg.norm(inverse, 2) * np.abs(tau).max() / np.abs(a).max()
    rounding = np.finfo(float).eps * max(np.linalg.cond(inverse), cancellation)
    conditioned = max(5e-12, rounding)
    states = {"forward_dynamics": (q, v, tau), "forward_dynamics_derivatives": (q, v, tau)}
    for function, count in (*DYNAMICS, *(DERIVATIVES if robot.n < 50 else ())):
        state = states.get(function, (q, v, a)[:count])
        ours = getattr(equations, function)(*(x.tolist() for x in state))
        bound = conditioned if function in states else BOUND
        assert relative(ours, getattr(reference, function)(*state)) < bound, function


def test_derivatives_in_loops_agree_with_pinocchio(tmp_path):
    """Two branches of fourteen joints, for one state and in a batch."""
    robot = md.load_robot(random_tree(tmp_path, 3, joints=28, branches=2))
    kernels, reference = md.customize(robot), Oracle(robot)
    states = [random_state(robot, np.random.default_rng(k)) for k in range(70)]
    batch = kernels.batch.forward_dynamics_derivatives(*np.moveaxis(states, 0, -1))
    for k, state in enumerate(states):
        expected = reference.forward_dynamics_derivatives(*state)
        assert relative(batch[..., k], expected) < BOUND
        assert relative(kernels.forward_dynamics_derivatives(*state), expected) < BOUND
    assert "forward_dynamics_derivatives" not in str(kernels.report())


# VmHWM, because ru_maxrss includes the parent process.
MEMORY = """
import re, sys
import numpy as np
import manip_dyn as md
kernels = md.customize(md.load_robot(sys.argv[1]))
kernels.in_place.compile()
kernels.forward_dynamics_derivatives(*np.zeros((3, 30)))
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read()).group(1))
"""


def test_thirty_joints_compile_in_less_than_a_gigabyte(tmp_path):
    """A branched robot, with all derivatives."""
    path = random_tree(tmp_path, 3, joints=30)
    assert float(output_of(MEMORY, path)) < 1e6


@pytest.mark.parametrize("link", ["link_side", "link_3", "link_0"])
def test_pose_and_jacobian_are_those_of_the_frame(tmp_path, link):
    """A link on a side branch, a link in the middle, and the base."""
    robot, step = load("tree2", tmp_path), 1e-6
    kernels = md.customize(robot, frame=link)
    q, v, _ = random_state(robot, np.random.default_rng(2))
    pose = kernels.forward_kinematics
    assert relative(pose(q), Oracle(robot).frame_pose(link, q)) < BOUND
    rate = (pose(q + step * v) - pose(q - step * v)) / (2 * step)
    np.testing.assert_allclose((kernels.jacobian(q) @ v)[:3], rate[:3, 3], atol=1e-8)


def test_an_unknown_frame_raises_an_error_that_suggests_a_name():
    with pytest.raises(md.ManipDynError, match="got 'tol0'; did you mean 'tool0'"):
        md.customize(md.load_robot("pa10"), frame="tol0")
