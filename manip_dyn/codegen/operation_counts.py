"""Operation counts of kernels before and after customization.

Counts before customization include all operations of the general algorithms with run-time
operands, even additions of zero and multiplications by zero or one. Counts after customization
are those of the generated code. Changes of sign are not counted.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from manip_dyn.codegen.generation.kernel_source import trace
from manip_dyn.codegen.rigid_body.catalogue import (
    DECLARATIONS,
    Declaration,
    argument_size,
    is_straight,
)
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.robot import Robot

LONGEST_SWITCHING = 12
"""Maximum number of joints for which the operations of the switching rates are counted."""


class Operations(NamedTuple):
    """Numbers of operations; additions include subtractions, and sines include cosines."""

    multiplications: int
    additions: int
    divisions: int
    sines: int

    @property
    def total(self) -> int:
        """The total number of operations."""
        return sum(self)


class Row(NamedTuple):
    """Counts of one kernel; `before` is None if the kernel differentiates an expression graph."""

    kernel: str
    before: Operations | None
    after: Operations


class Report(NamedTuple):
    """Operation counts of a robot's kernels; prints as a table."""

    robot: str
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        """Return a table of multiplications, additions, divisions, sines and totals."""
        heads = f"{'mult':>7}{'add':>7}{'div':>5}{'sin':>5}{'all':>7}"
        lines = [
            f"{self.robot}: operations before and after customization",
            f"{'kernel':<38}{heads}  |{heads}",
        ]
        for row in self.rows:
            before = f"{'-':>31}" if row.before is None else _columns(row.before)
            lines.append(f"{row.kernel:<38}{before}  |{_columns(row.after)}")
        return "\n".join(lines)

    def __getitem__(self, key):
        """Return the row of a kernel by its name, or a field by its index."""
        if isinstance(key, str):
            return next(row for row in self.rows if row.kernel == key)
        return tuple(self)[key]


def operation_report(robot: Robot, frame: str) -> Report:
    """Count the operations of the straight-line kernels of a robot.

    Second derivatives are omitted, as are the switching rates of more than 12 joints, which
    contain second derivatives. The module ``motion`` repeats the forward dynamics and is omitted,
    too.

    Args:
        robot: The robot.
        frame: Name of the link for pose and Jacobian.
    """
    equations = Equations(robot, robot.frame(frame))
    omitted = {"motion", "second_derivatives"}
    if robot.n > LONGEST_SWITCHING:
        omitted.add("switching")
    kernels = [
        kernel
        for kernel in DECLARATIONS
        if is_straight(kernel, equations.parents) and kernel.module not in omitted
    ]
    return Report(robot.name, tuple(_row(equations, kernel) for kernel in kernels))


def _row(equations: Equations, declaration: Declaration) -> Row:
    function = trace(equations, declaration)
    after = _operations(function.graph.count(function.outputs))
    return Row(declaration.name, _in_loops(equations, declaration), after)


def _in_loops(equations: Equations, declaration: Declaration) -> Operations | None:
    counts: Counter[str] = Counter()
    inputs = [
        [_Tally(counts) for _ in range(argument_size(name, equations.n))]
        for name in declaration.arguments
    ]
    try:
        getattr(equations, declaration.name)(*inputs)
    except AttributeError:
        return None
    return _operations(counts)


def _operations(counts: Counter[str]) -> Operations:
    return Operations(
        counts["multiply"],
        counts["add"] + counts["subtract"],
        counts["divide"],
        counts["sin"] + counts["cos"],
    )


def _columns(operations: Operations) -> str:
    numbers = zip((*operations, operations.total), (7, 7, 5, 5, 7), strict=True)
    return "".join(f"{number:>{width}}" for number, width in numbers)


class _Tally:
    """A scalar without a value that counts operations."""

    def __init__(self, counts: Counter[str]):
        self._counts = counts

    def _counted(kind: str) -> Any:  # type: ignore[misc]  # noqa: N805
        def operate(self, *_operand):
            self._counts[kind] += 1
            return self

        return operate

    __add__ = __radd__ = _counted("add")
    __sub__ = __rsub__ = _counted("subtract")
    __mul__ = __rmul__ = _counted("multiply")
    __truediv__ = __rtruediv__ = _counted("divide")
    sin, cos = _counted("sin"), _counted("cos")

    def __neg__(self):
        return self
