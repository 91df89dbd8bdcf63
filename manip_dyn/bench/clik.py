"""`manip_dyn bench clik`: one velocity solve compared with pinocchio + numpy, pink and mink.

The suite times one velocity solve from Python for each robot. The candidates are manip_dyn with
the same constant damping as the peers, manip_dyn with its default filtered inverse, and each
installed peer. Rows contain microseconds and the ratio to manip_dyn. Takes about 5 s.
"""

from __future__ import annotations

import warnings
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pinocchio

from manip_dyn.bench.peers import bare_urdf, installed
from manip_dyn.bench.robots import usual_robots
from manip_dyn.bench.timing import Candidate, Timing, compare, documented, headline, timing_lines
from manip_dyn.clik import ClikSettings, Pose, VelocitySolver, middle_posture
from manip_dyn.codegen import customize
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

PACKAGES = ("manip_dyn", "numba", "numpy", "pin", "pin-pink", "mink", "daqp")
GAIN, DAMPING = 2.0, 1e-3
CALL = "solver(q, pose, twist)"


class Row(NamedTuple):
    """Timings of all candidates for one robot, and a message for each peer that is skipped.

    `call` is the documented call of the first candidate.
    """

    robot: str
    missing: list[str]
    timings: list[Timing]
    call: str = ""


def table(rows: Sequence[Row]) -> str:
    """Return one table per robot."""
    lines = [
        "One CLIK velocity from Python: kinematics, error, damped least squares. Medians over "
        "interleaved rounds: of the times, and of the ratios to the first row in the same round.",
    ]
    for row in rows:
        lines += [headline(f"\n{row.robot}", row.call), *timing_lines(row.timings)]
        lines += [f"  {sentence}" for sentence in row.missing]
    return "\n".join(lines)


def measure(robots: Sequence[Robot] | None = None) -> list[Row]:
    """Time one velocity solve of each robot, with the same task for all candidates.

    Each joint is 1e-2 rad away from the goal. Feedback and damping are the same for all
    candidates. manip_dyn enforces the position and speed limits of the joints in every variant.
    pink and mink are timed with and without limits.
    """
    return [_row(robot) for robot in (robots or usual_robots())]


def _row(robot: Robot) -> Row:
    problem = problem_of(robot)
    peers, missing = installed_peers(problem)
    by_hand = Candidate("pinocchio + numpy, by hand", pinocchio_and_numpy(problem))
    return Row(robot.name, missing, compare([*_ours(problem), by_hand, *peers]), CALL)


def problem_of(robot: Robot) -> Problem:
    """Return the task for a robot."""
    q = np.clip(middle_posture(robot) + 0.2, robot.q_min, robot.q_max)
    goal = customize(robot).forward_kinematics(np.clip(q + 1e-2, robot.q_min, robot.q_max))
    pose = Pose(goal[:3, 3].copy(), goal[:3, :3].copy())
    return Problem(robot, q, pose, np.zeros(6), GAIN, DAMPING)


def our_solve(problem: Problem, solver: VelocitySolver) -> tuple[Any, Vector]:
    """Return a call of a solver in place, and the array (n,) to which it writes velocities."""
    desired = np.concatenate([problem.pose.position, problem.pose.rotation.ravel(), problem.twist])
    q, v = problem.q.copy(), np.empty(problem.robot.n)
    solve, memory = solver.in_place, solver.memory
    return lambda: solve(q, desired, memory, v), v


def our_solver(problem: Problem) -> VelocitySolver:
    """Return a solver with the feedback and the damping of the other candidates."""
    settings = ClikSettings(
        gain=problem.gain, inverse="constant", max_damping=problem.damping, orientation_error="log"
    )
    return VelocitySolver(problem.robot, settings)


def _ours(problem: Problem) -> list[Candidate]:
    names = {"q": problem.q, "pose": problem.pose, "twist": problem.twist}
    same = our_solver(problem)
    usual = VelocitySolver(problem.robot, ClikSettings(gain=problem.gain))
    return [
        Candidate("manip_dyn", documented(CALL, names | {"solver": same})),
        Candidate("inside: in place", our_solve(problem, same)[0]),
        Candidate("manip_dyn, filtered inverse", documented(CALL, names | {"solver": usual})),
        Candidate("inside: in place, filtered inverse", our_solve(problem, usual)[0]),
    ]


# ------------------------------------------------------------------------------------- peers
STEP = 1e-3
"""Time step of the peers, s."""


class Problem(NamedTuple):
    """A velocity solve: positions (n,), desired pose and twist (6,), gain (1/s), damping."""

    robot: Robot
    q: Vector
    pose: Pose
    twist: Vector
    gain: float
    damping: float


def pinocchio_and_numpy(problem: Problem) -> Callable[[], Vector]:
    """Return a hand-written damped least-squares solve with pinocchio and numpy.

    Pinocchio's compiled logarithm computes the orientation error, because it is faster than cross
    products in numpy.
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
        desired = twist + gain * error
        return jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + shift, desired)

    return solve


def installed_peers(problem: Problem) -> tuple[list[Candidate], list[str]]:
    """Return the candidates of pink and mink, and a message for each peer that is skipped."""
    candidates, missing = [], []
    for package, needs, make in (("pink", "pin-pink", _pink), ("mink", "mink", _mink)):
        if not installed(package) or not installed("daqp"):
            missing.append(f"{package} is skipped: pip install {needs} daqp")
            continue
        try:
            candidates += make(problem)
        except (RuntimeError, ValueError, KeyError) as error:
            missing.append(f"{package} is skipped: {' '.join(str(error).split())[:200]}")
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
    """Return two candidates for a peer: with its default joint limits, and without limits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        solve()
    return [
        Candidate(f"{name} solve_ik, daqp", solve),
        Candidate(f"{name} solve_ik, daqp, no limits", lambda: solve(limits=[])),
    ]
