"""Generated kernels against pinocchio, and the cache they live in."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest
from arms import SHIPPED, load, random_state, random_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from numba.core.runtime import _nrt_python, rtsys

import manip_dyn as md
from manip_dyn.codegen.algorithms import inverse_dynamics, mass_matrix
from manip_dyn.codegen.motion import joint_poses
from manip_dyn.codegen.trace import trace_kernels
from manip_dyn.robot import Reference

ROBOTS = (*SHIPPED, "panda", "ur5", "tree2")
SMALL = (*SHIPPED, "ur5", "tree2")
"""Robots whose derivatives compile in some seconds."""


def relative(actual, expected):
    return np.abs(np.subtract(actual, expected)).max() / max(1e-3, np.abs(expected).max())


@pytest.mark.parametrize("name", ROBOTS)
def test_kernels_agree_with_pinocchio(tmp_path, name):
    robot = load(name, tmp_path)
    kernels, reference = md.customize(robot), Reference(robot)
    rng = np.random.default_rng(4)
    for _ in range(50):
        q, v, tau = random_state(robot, rng)
        for function, arguments in (
            ("forward_dynamics", (q, v, tau)),
            ("inverse_dynamics", (q, v, tau)),
            ("mass_matrix", (q,)),
            ("forward_kinematics", (q,)),
            ("jacobian", (q,)),
            ("energy", (q, v)),
            *([("forward_dynamics_derivatives", (q, v, tau))] if name in SMALL else []),
        ):
            ours = getattr(kernels, function)(*arguments)
            theirs = getattr(reference, function)(*arguments)
            bound = 1e-11 if "derivatives" in function else 1e-12
            assert relative(ours, theirs) < bound, function


@settings(max_examples=15, deadline=None, derandomize=True)
@given(seed=st.integers(100, 10_000), joints=st.integers(1, 9))
def test_algorithms_over_floats_agree_on_random_trees(tmp_path_factory, seed, joints):
    """The same algorithms without a graph: the slow reference."""
    robot = md.load_robot(random_tree(tmp_path_factory.mktemp("tree"), seed, joints))
    reference = Reference(robot)
    q, v, a = random_state(robot, np.random.default_rng(seed))
    poses = joint_poses(robot.bodies, q.tolist())
    mass = mass_matrix(robot.bodies, poses, robot.armature.tolist())
    assert relative(mass, reference.mass_matrix(q)) < 1e-12
    assert np.linalg.eigvalsh(mass).min() > 0.0
    efforts = inverse_dynamics(robot.bodies, poses, v.tolist(), a.tolist(), robot.gravity.tolist())
    efforts = efforts + robot.armature * a + robot.damping * v
    efforts = efforts + robot.stiffness * (q - robot.rest)
    assert relative(efforts, reference.inverse_dynamics(q, v, a)) < 1e-12


def test_customizing_leaves_only_what_the_arm_needs():
    """A planar double link: Fan's eqs. 6.21-6.22 have one sine, one cosine, no gravity."""
    functions = {f.name: f for f in trace_kernels(md.load_robot("ibm7535"))}
    inverse = functions["inverse_dynamics"]
    count = inverse.graph.count(inverse.outputs)
    assert (count["sin"], count["cos"]) == (1, 1)
    assert sum(count.values()) <= 40
    forward = functions["forward_dynamics"]
    assert sum(forward.graph.count(forward.outputs).values()) <= 44


def test_in_place_kernels_allocate_nothing_and_serve_other_numba_code():
    robot = md.load_robot("pa10")
    forward = md.customize(robot).in_place.forward_dynamics

    @numba.njit
    def many(q, v, tau, out, count):
        for _ in range(count):
            forward(q, v, tau, out)
            q[0] += 1e-9 * out[0]

    q, v, tau = random_state(robot, np.random.default_rng(1))
    out = np.empty(robot.n)
    many(q, v, tau, out, 1)
    _nrt_python.memsys_enable_stats()
    allocations = []
    for count in (1, 10_000):
        before = rtsys.get_allocation_stats().alloc
        many(q, v, tau, out, count)
        allocations.append(rtsys.get_allocation_stats().alloc - before)
    # What there is belongs to handing four arrays over from Python.
    assert allocations[0] == allocations[1] <= 4
    assert relative(out, Reference(robot).forward_dynamics(q, v, tau)) < 1e-6


def test_non_finite_numbers_pass_through_in_place_kernels():
    robot = md.load_robot("ibm7535")
    out = np.zeros(2)
    md.customize(robot).in_place.forward_dynamics(
        np.array([0.0, np.nan]), np.zeros(2), np.zeros(2), out
    )
    assert np.isnan(out).all()


SCRIPT = """
import sys, warnings
warnings.simplefilter("always")
import numpy as np, manip_dyn as md
kernels = md.customize(md.load_robot("one_link_vertical"))
print(kernels.inverse_dynamics([0.0], [0.0], [0.0])[0])
"""


def run_with_cache(folder):
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"MANIP_DYN_CACHE": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_concurrent_processes_share_a_fresh_cache(tmp_path):
    processes = [run_with_cache(tmp_path / "cache") for _ in range(3)]
    for process in processes:
        out, log = process.communicate(timeout=60)
        assert process.returncode == 0, log
        assert float(out) == pytest.approx(5.0 * 9.8 * 0.15, abs=1e-12)
    assert len(list((tmp_path / "cache").glob("*.py"))) == 1
    assert not list((tmp_path / "cache").glob("*.tmp"))


def test_unusable_cache_folder_is_one_warning(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("not a folder")
    process = run_with_cache(blocked / "cache")
    out, log = process.communicate(timeout=60)
    assert process.returncode == 0, log
    assert float(out) == pytest.approx(5.0 * 9.8 * 0.15, abs=1e-12)
    assert log.count("cannot be written") == 1
    assert "MANIP_DYN_CACHE" in log
