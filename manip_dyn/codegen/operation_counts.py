"""Operation counts of kernels before and after customization."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from manip_dyn.codegen.rigid_body.catalogue import (
    DECLARATIONS,
    LONGEST,
    Declaration,
    argument_size,
    trace,
)
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.robot import Robot


class Operations(NamedTuple):
    """Numbers of operations; additions include subtractions, sines include cosines."""

    multiplications: int
    additions: int
    divisions: int
    sines: int

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


class Row(NamedTuple):
    """One kernel; `before` is None where there is no form of it in loops."""

    kernel: str
    before: Operations | None
    after: Operations


class Report(NamedTuple):
    """The operations of a robot's kernels; prints as a table."""

    robot: str
    rows: tuple[Row, ...]

    def __str__(self) -> str:
        """Return the table: multiplications, additions, divisions, sines, and all of them."""
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
        """Return the row of a kernel by its name, or a field by its place."""
        if isinstance(key, str):
            return next(row for row in self.rows if row.kernel == key)
        return tuple(self)[key]


def operation_report(robot: Robot, frame: str) -> Report:
    """Count the operations of every straight-line kernel but the second derivatives.

    Without the switching rates of long chains, which hold second derivatives too. The motion is
    the forward dynamics once more.
    """
    equations = Equations(robot, robot.frame(frame))
    left_out = {"motion", "second_derivatives"}
    if robot.n > LONGEST:
        left_out.add("switching")
    kernels = [
        each for each in DECLARATIONS if robot.n <= each.longest and each.module not in left_out
    ]
    return Report(robot.name, tuple(_row(equations, each) for each in kernels))


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
    """A scalar without a value that counts what is done with it."""

    def __init__(self, counts: Counter[str]):
        self._counts = counts

    def _counted(kind: str) -> Any:  # type: ignore[misc]  # noqa: N805
        def operate(self, *_other):
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
