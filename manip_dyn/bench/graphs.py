"""A robot's motion for other libraries: its expression graph evaluated with their operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import add, mul, sub, truediv
from typing import Any

import numpy as np

from manip_dyn.codegen.rigid_body.catalogue import BY_NAME, trace
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.integration import METHODS, RungeKutta
from manip_dyn.robot import Robot

_OPERATORS = {"add": add, "subtract": sub, "multiply": mul, "divide": truediv}


def motion(robot: Robot, sin: Callable, cos: Callable, number: Callable = float) -> Callable:
    """Return ``rates(y, tau)``, a list of 2 n, for a state of 2 n numbers.

    Without `tau`, n numbers, the motion is free.

    Args:
        robot: The arm.
        sin: Sine of the library's numbers.
        cos: Their cosine.
        number: What makes one of them from a float.
    """
    function = trace(Equations(robot, robot.tip_frame), BY_NAME["motion"])
    operations = function.graph.operations
    needed = function.graph.needed_for(function.outputs)

    def rates(y: Sequence[Any], tau: Sequence[Any] | None = None) -> list[Any]:
        values: dict[int, Any] = {}
        efforts = [number(0.0)] * robot.n if tau is None else tau
        for place in needed:
            kind, operands, content = operations[place]
            given = [values[each] for each in operands]
            if kind == "constant":
                values[place] = number(content)
            elif kind == "input":
                name, index = str(content).rstrip("]").split("[")
                values[place] = (y if name == "y" else efforts)[int(index)]
            elif kind in ("sin", "cos"):
                values[place] = (sin if kind == "sin" else cos)(given[0])
            else:
                values[place] = _OPERATORS[kind](*given)
        return [
            -values[each.place] if each.negative else values[each.place]
            for each in function.outputs
        ]

    return rates


def reference(robot: Robot, y0: Sequence[float], duration: float, steps: int) -> np.ndarray:
    """Return the state after `duration`, s, by RK10 in extended precision with fixed steps."""
    method = METHODS["rk10"]
    assert isinstance(method, RungeKutta)
    table = method.tableau
    extended = np.longdouble
    rates = motion(robot, np.sin, np.cos, extended)
    y, h = np.array(y0, dtype=extended), extended(duration) / steps
    for _ in range(steps):
        slopes: list[np.ndarray] = []
        for row in table.a:
            terms = [float(a) * k for a, k in zip(row, slopes, strict=False) if a]
            slopes.append(np.array(rates(y + h * sum(terms)), dtype=extended))
        y = y + h * sum(float(b) * k for b, k in zip(table.b, slopes, strict=True))
    return y.astype(np.float64)
