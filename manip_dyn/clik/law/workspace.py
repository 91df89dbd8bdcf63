"""The memory of the CLIK law: its constants and its scratch in one flat array, by name."""

from __future__ import annotations

from typing import Any, ClassVar

from manip_dyn.clik.law.settings import NUMBERS, ROWS, ClikSettings
from manip_dyn.core.arrays.parts import Extent, N, Parts, reader
from manip_dyn.core.checks import Vector
from manip_dyn.robot import Robot

SCALE, DAMPED, ESCAPING, MEASURED = range(4)
"""Indices of `report`: speed scale, largest damping used, joint speed of the escape,
manipulability where the inverse asks for it."""


class Task(Parts):
    """What the law works with; n joints, six rows of the task.

    Attributes:
        numbers: Of `ClikSettings.numbers` (16,).
        square: J J^T (6, 6).
        factor: Its Cholesky factor (6, 6).
        basis: Left singular vectors as columns (6, 6).
        values: Singular values (6,), falling; of the last decomposition.
        error: Error of the pose (6,).
        twist: Wanted twist: twist_d + K e (6,).
        rest: What of it the joints have to add to the null-space motion, and solution (6,).
        report: See the indices above (4,).
        lost: The direction that a singularity takes away (6,).
        desired: Desired pose and twist (18,), see `pose`.
        actual: Of the kernel ``kinematics``: pose of the tool (12), Jacobian by rows (6 n).
        jacobian: J times `freedom`, without the rows that are not controlled (6, n).
        rows: The same, decomposed in place (6, n).
        joints: Of `ClikSettings.joints` (5, n).
        wish: Null-space velocity that is wanted (n,).
        null: The same with what leads out of a singularity (n,).
        freedom: 1 / sqrt(weight) of the joints, 0 where one is held at its limit (n,).
        held: 1 for joints held at their limits, 0 for others (n,).
        speeds: Eigenvalues of the escape (n,).
        hessian, directions, projector: Matrices of the escape (n, n).
    """

    numbers: Any
    square: Any
    factor: Any
    basis: Any
    values: Any
    error: Any
    twist: Any
    rest: Any
    report: Any
    lost: Any
    desired: Any
    actual: Any
    jacobian: Any
    rows: Any
    joints: Any
    wish: Any
    null: Any
    freedom: Any
    held: Any
    speeds: Any
    hessian: Any
    directions: Any
    projector: Any

    SHAPES: ClassVar[dict[str, tuple[Extent, ...]]] = {
        "numbers": (NUMBERS,),
        "square": (6, 6),
        "factor": (6, 6),
        "basis": (6, 6),
        "values": (6,),
        "error": (6,),
        "twist": (6,),
        "rest": (6,),
        "report": (4,),
        "lost": (6,),
        "desired": (18,),
        "actual": ((12, 6),),
        "jacobian": (6, N),
        "rows": (6, N),
        "joints": (ROWS, N),
        "wish": (N,),
        "null": (N,),
        "freedom": (N,),
        "held": (N,),
        "speeds": (N,),
        "hessian": (N, N),
        "directions": (N, N),
        "projector": (N, N),
    }


task_of = reader(Task)
"""``task_of(memory)``: its parts, in compiled code too."""


def memory_of(robot: Robot, settings: ClikSettings, step: float) -> Vector:
    """Return the memory of a law whose velocities hold for `step` s each."""
    memory = Task.allocate(robot.n)
    set_constants(memory, robot, settings, step)
    return memory


def set_constants(memory: Vector, robot: Robot, settings: ClikSettings, step: float) -> None:
    """Write the constants of a law; bad ones raise `ManipDynError` and change nothing."""
    numbers, joints = settings.numbers(step), settings.joints(robot)
    task = Task(memory)
    task.numbers[:], task.joints[:] = numbers, joints
