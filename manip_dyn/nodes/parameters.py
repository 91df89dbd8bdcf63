"""Node parameters from one table: declared, described, checked; misspelt ones are refused."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from manip_dyn.errors import ManipDynError, closest

NUMBERS = RosParameter.Type.DOUBLE_ARRAY
"""The default of a list of numbers: not set, read as an empty list."""


class Parameter(NamedTuple):
    """One row of a node's parameter table.

    The default gives the type: bool, int, float, str or `NUMBERS`. `dynamic` parameters can be
    set while the node runs, the others only at its start.
    """

    name: str
    default: Any
    description: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    dynamic: bool = False


def declare(node: Node, table: Sequence[Parameter]) -> dict[str, Any]:
    """Declare the rows of `table` on `node` and return their values by name.

    Raises:
        ManipDynError: If a parameter given to the node is unknown, of a wrong type, out of
            range or not finite.
    """
    _refuse_unknown(node)
    rows = {row.name: row for row in table}
    _refuse_misspelt(node, rows)
    for row in table:
        try:
            node.declare_parameter(row.name, row.default, _descriptor(row))
        except (InvalidParameterTypeException, ValueError) as error:
            raise ManipDynError(
                f"parameter '{row.name}' is {_given(node, row)!r}; expected {_type_name(row)}"
            ) from error
        except InvalidParameterValueException as error:
            raise ManipDynError(_problem(row, _given(node, row)) or str(error)) from error
        problem = _problem(row, _value(node, row))
        if problem:
            raise ManipDynError(problem)
    return {name: _value(node, row) for name, row in rows.items()}


def on_change(
    node: Node,
    table: Sequence[Parameter],
    apply: Callable[[dict[str, Any]], None],
    refuse: Callable[[dict[str, Any]], str] = lambda _changed: "",
) -> None:
    """Check every later set against `table`; hand accepted values to `apply` by name.

    `refuse` returns what is wrong with values that are good each for itself, or nothing.
    """
    rows = {row.name: row for row in table}

    def check(parameters: list[RosParameter]) -> SetParametersResult:
        for parameter in parameters:
            row = rows.get(parameter.name)
            problem = row and _problem(row, parameter.value)
            if problem:
                return SetParametersResult(successful=False, reason=problem)
        reason = refuse({p.name: p.value for p in parameters if p.name in rows})
        return SetParametersResult(successful=not reason, reason=reason)

    def applied(parameters: list[RosParameter]) -> None:
        apply({p.name: p.value for p in parameters if p.name in rows})

    node.add_on_set_parameters_callback(check)
    node.add_post_set_parameters_callback(applied)


def _value(node: Node, row: Parameter) -> Any:
    try:
        return node.get_parameter(row.name).value
    except ParameterUninitializedException:
        return array("d")


def _given(node: Node, row: Parameter) -> Any:
    return node._parameter_overrides[row.name].value


def _refuse_unknown(node: Node) -> None:
    if not hasattr(node, "_parameter_overrides"):
        raise ManipDynError("this rclpy does not tell which parameters a node was given")


def _refuse_misspelt(node: Node, rows: dict[str, Parameter]) -> None:
    for name in node._parameter_overrides:
        known = name in rows or node.has_parameter(name) or name.startswith("qos_overrides.")
        if not known:
            raise ManipDynError(f"unknown parameter '{name}'{closest(name, rows)}")


def _descriptor(row: Parameter) -> ParameterDescriptor:
    unit = f" [{row.unit}]" if row.unit else ""
    descriptor = ParameterDescriptor(
        name=row.name,
        description=row.description + unit,
        read_only=not row.dynamic,
        additional_constraints=f"one of: {', '.join(row.choices)}" if row.choices else "",
    )
    if row.minimum is None and row.maximum is None:
        return descriptor
    if isinstance(row.default, int):
        low, high = row.minimum or 0, row.maximum or 2**62
        descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
    elif isinstance(row.default, float):
        low = -np.inf if row.minimum is None else row.minimum
        high = np.inf if row.maximum is None else row.maximum
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=float(low), to_value=float(high))
        ]
    return descriptor


def _problem(row: Parameter, value: Any) -> str:
    """Return what is wrong with `value`, or an empty string."""
    if row.choices and value not in row.choices:
        return f"parameter '{row.name}' is '{value}'; expected one of {', '.join(row.choices)}"
    if isinstance(value, bool) or not isinstance(value, (int, float, list, array)):
        return ""
    numbers = np.atleast_1d(np.array(value, dtype=float))
    low = -np.inf if row.minimum is None else row.minimum
    high = np.inf if row.maximum is None else row.maximum
    if np.all(np.isfinite(numbers) & (numbers >= low) & (numbers <= high)):
        return ""
    wanted = "finite numbers" if np.isinf([low, high]).all() else f"{low:g} to {high:g}"
    shown = f"{value:g}" if isinstance(value, (int, float)) else numbers.tolist()
    return f"parameter '{row.name}' is {shown}; expected {wanted} {row.unit}".rstrip()


def _type_name(row: Parameter) -> str:
    names = {bool: "true or false", int: "an integer", float: "a number with a decimal point"}
    if row.default is NUMBERS:
        return "a list of numbers with decimal points, at least one"
    return names.get(type(row.default), "text")
