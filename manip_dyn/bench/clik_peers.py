"""The peers of `bench clik`: the same velocity solve by others, whatever of them is installed."""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pinocchio

from manip_dyn.bench.peers import bare_urdf, installed
from manip_dyn.bench.timing import Candidate
from manip_dyn.clik import Pose
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

STEP = 1e-3
"""Over which peers integrate their velocities, s."""


class Problem(NamedTuple):
    """One velocity solve: joints (n,), desired pose and twist (6,), feedback 1/s, damping."""

    robot: Robot
    q: Vector
    pose: Pose
    twist: Vector
    gain: float
    damping: float


def pinocchio_and_numpy(problem: Problem) -> Callable[[], Vector]:
    """Return damped least squares as one writes them by hand, with pinocchio and numpy.

    Errors by pinocchio's compiled logarithm, which is faster than numpy's cross products.
    """
    robot, q, pose, twist, gain, damping = problem
    model, data = robot.model, robot.model.createData()
    frame = model.getFrameId(robot.tip)
    shift = damping**2 * np.eye(6)
    reference = pinocchio.LOCAL_WORLD_ALIGNED
    error = np.empty(6)

    def solve() -> Vector:
        pinocchio.computeJointJacobians(model, data, q)
        pinocchio.updateFramePlacement(model, data, frame)
        jacobian = pinocchio.getFrameJacobian(model, data, frame, reference)
        actual = data.oMf[frame]
        error[:3] = pose.position - actual.translation
        error[3:] = pinocchio.log3(pose.rotation @ actual.rotation.T)
        wanted = twist + gain * error
        return jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + shift, wanted)

    return solve


def installed_peers(problem: Problem) -> tuple[list[Candidate], list[str]]:
    """Return the candidates of pink and mink, and a sentence for each that is left out."""
    candidates, missing = [], []
    for package, needs, make in (("pink", "pin-pink", _pink), ("mink", "mink", _mink)):
        if not installed(package) or not installed("daqp"):
            missing.append(f"{package} is left out: pip install {needs} daqp")
            continue
        try:
            candidates += make(problem)
        except (RuntimeError, ValueError, KeyError) as error:
            missing.append(f"{package} is left out: {' '.join(str(error).split())[:200]}")
    return candidates, missing


def _pink(problem: Problem) -> list[Candidate]:
    import pink

    robot, pose = problem.robot, problem.pose
    configuration = pink.Configuration(robot.model, robot.model.createData(), problem.q)
    task = pink.tasks.FrameTask(
        robot.tip, 1.0, 1.0, lm_damping=problem.damping**2, gain=problem.gain * STEP
    )
    task.set_target(pinocchio.SE3(pose.rotation, pose.position))

    def solve(**options: Any) -> Vector:
        configuration.update(problem.q)
        return pink.solve_ik(configuration, [task], STEP, "daqp", safety_break=False, **options)

    return _with_and_without_limits("pink", solve)


def _mink(problem: Problem) -> list[Candidate]:
    import mink
    import mujoco

    root = ElementTree.fromstring(bare_urdf(problem.robot.urdf))
    extra = ElementTree.SubElement(root, "mujoco")
    ElementTree.SubElement(extra, "compiler", fusestatic="false")
    model = mujoco.MjModel.from_xml_string(ElementTree.tostring(root, encoding="unicode"))
    configuration = mink.Configuration(model)
    task = mink.FrameTask(
        problem.robot.tip,
        "body",
        1.0,
        1.0,
        gain=problem.gain * STEP,
        lm_damping=problem.damping**2,
    )
    target = np.eye(4)
    target[:3, :3], target[:3, 3] = problem.pose.rotation, problem.pose.position
    task.set_target(mink.SE3.from_matrix(target))

    def solve(**options: Any) -> Vector:
        configuration.update(problem.q)
        return mink.solve_ik(configuration, [task], STEP, "daqp", damping=1e-12, **options)

    return _with_and_without_limits("mink", solve)


def _with_and_without_limits(name: str, solve: Callable[..., Vector]) -> list[Candidate]:
    """Return a peer as it comes, with joint limits, and stripped of them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solve()
    return [
        Candidate(f"{name} solve_ik, daqp", solve),
        Candidate(f"{name} solve_ik, daqp, no limits", lambda: solve(limits=[])),
    ]
