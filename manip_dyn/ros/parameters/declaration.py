"""Declaration of node parameters as fields of a frozen dataclass.

A parameter is a field such as

    step: float = parameter(1e-3, "Integration step", "s", 1e-6, 1.0, dynamic=True)

The type of the field is the type of the parameter: `bool`, `int`, `float`, `str`, `Numbers` or
`NumberOrWord`. A field whose type is another such dataclass is a group. The names of its
parameters have the name of the field as a prefix, as in ``circle.center``.
"""

from __future__ import annotations

import inspect
import sys
from array import array
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, fields, is_dataclass, replace
from typing import Any, NamedTuple, TypeVar, get_type_hints

import numpy as np
from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    ParameterType,
    SetParametersResult,
)
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterUninitializedException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.ros.runtime.environment import parameter_overrides

Numbers = tuple[float, ...]
"""The type of a list of numbers. An empty list means "not set"."""

NumberOrWord = float | str
"""The type of a number that may be replaced by one of the words in `choices`, such as "auto"."""

P = TypeVar("P")
"""Type of a dataclass of parameters."""


class Row(NamedTuple):
    """A parameter.

    Attributes:
        name: Name, with the prefixes of its groups.
        kind: Type of the value.
        default: Default value.
        description: Description for users.
        unit: Unit, or "".
        minimum: Smallest value, or None.
        maximum: Largest value, or None.
        choices: Possible values, or () for any value; the words of a `NumberOrWord`.
        dynamic: Whether the parameter can be set while the node runs.
        per_joint: Value for each joint if a list is not set, or None.
    """

    name: str
    kind: Any
    default: Any
    description: str
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    dynamic: bool = False
    per_joint: float | None = None


def parameter(
    default: Any,
    description: str,
    unit: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    choices: tuple[str, ...] = (),
    dynamic: bool = False,
    per_joint: float | None = None,
) -> Any:
    """Return a dataclass field that declares a parameter; `Row` describes the arguments."""
    metadata: dict[str, Any] = {"description": description, "unit": unit}
    metadata |= {"minimum": minimum, "maximum": maximum}
    metadata |= {"choices": choices, "dynamic": dynamic, "per_joint": per_joint}
    return field(default=default, metadata=metadata)


def group(kind: type) -> Any:
    """Return a dataclass field that declares a group of parameters."""
    return field(default_factory=kind)


def default_of(function: Callable[..., Any], name: str) -> Any:
    """Return the default value of a function's argument, for use as that of a parameter."""
    default = inspect.signature(function).parameters[name].default
    if default is inspect.Parameter.empty:
        raise TypeError(f"argument '{name}' of {function} has no default.")
    return default


def rows(kind: Any) -> list[Row]:
    """Return the parameters of a dataclass. Those of its base classes come first."""
    table, types = [], get_type_hints(kind)
    for entry in fields(kind):
        if is_dataclass(types[entry.name]):
            inner = rows(types[entry.name])
            table += [row._replace(name=f"{entry.name}.{row.name}") for row in inner]
        else:
            table.append(Row(entry.name, types[entry.name], entry.default, **entry.metadata))
    return table


def with_values(parameters: P, values: Mapping[str, Any]) -> P:
    """Return a copy of `parameters` with new values by full name, such as ``circle.center``."""
    changes: dict[str, Any] = {}
    for entry in fields(parameters):  # type: ignore[arg-type]  # P is a dataclass
        present, prefix = getattr(parameters, entry.name), f"{entry.name}."
        if is_dataclass(present):
            inner = {n.removeprefix(prefix): v for n, v in values.items() if n.startswith(prefix)}
            changes[entry.name] = with_values(present, inner)
        elif entry.name in values:
            changes[entry.name] = values[entry.name]
    return replace(parameters, **changes)  # type: ignore[type-var]


def declare(node: Node, kind: type[P]) -> P:
    """Declare the parameters of a dataclass on `node` and return them with their values.

    Raises:
        ManipDynError: If a parameter is unknown, or its value has the wrong type, is out of range,
            is not finite or is not one of the choices.
    """
    table = rows(kind)
    overrides = _checked_overrides(node, [row.name for row in table])
    for row in table:
        is_list, override = row.kind == Numbers, overrides.get(row.name)
        default = Parameter.Type.DOUBLE_ARRAY if is_list else row.default
        try:
            node.declare_parameter(row.name, default, _descriptor(row))
        except (InvalidParameterTypeException, ValueError) as error:
            raise ManipDynError(_of_wrong_type(row, override)) from error
        except InvalidParameterValueException as error:
            raise ManipDynError(_problem(row, override) or str(error)) from error
        problem = _problem(row, _value(node, row))
        if problem:
            raise ManipDynError(problem)
        if is_list:
            _set_list(node, row, _value(node, row))
    _refuse_changes(node, [row for row in table if not row.dynamic])
    return with_values(kind(), {row.name: _value(node, row) for row in table})


def declare_joints(node: Node, kind: type, joints: int) -> None:
    """Set empty lists to their default for each joint, if any, so that clients can read it.

    Args:
        node: The node on which the parameters are declared.
        kind: The dataclass of the parameters.
        joints: Number of joints of the robot.
    """
    for row in rows(kind):
        if row.per_joint is not None and not _value(node, row):
            _set_list(node, row, (row.per_joint,) * joints)


def _refuse_changes(node: Node, table: Sequence[Row]) -> None:
    """Reject later changes of parameters, except the first values of lists for each joint.

    The parameters are not read-only, because rclpy gives no reason for rejecting those.
    """
    fixed = {row.name: row for row in table}

    def check(changes: list[Parameter]) -> SetParametersResult:
        for row in (fixed[change.name] for change in changes if change.name in fixed):
            if row.per_joint is None or _value(node, row):
                reason = f"parameter '{row.name}' {AT_START}: restart the node to change it"
                return SetParametersResult(successful=False, reason=reason)
        return SetParametersResult(successful=True)

    node.add_on_set_parameters_callback(check)


def on_change(
    node: Node,
    parameters: P,
    apply: Callable[[P], None],
    problem: Callable[[P, Collection[str]], str] = lambda _parameters, _changed: "",
) -> None:
    """Check parameters that are set while the node runs, and apply valid values.

    Args:
        node: The node.
        parameters: The current parameters.
        apply: Applies the new parameters.
        problem: Returns why a combination of valid parameters is invalid, or "". The arguments
            are the new parameters and the names of the changed parameters.
    """
    table = {row.name: row for row in rows(type(parameters))}
    present = parameters

    def values_of(changes: list[Parameter]) -> dict[str, Any]:
        return {entry.name: _plain(entry.value) for entry in changes if entry.name in table}

    def check(changes: list[Parameter]) -> SetParametersResult:
        values = values_of(changes)
        problems = (_problem(table[name], value) for name, value in values.items())
        reason = next(filter(None, problems), "")
        reason = reason or problem(with_values(present, values), values.keys())
        return SetParametersResult(successful=not reason, reason=reason)

    def update(changes: list[Parameter]) -> None:
        nonlocal present
        present = with_values(present, values_of(changes))
        apply(present)

    node.add_on_set_parameters_callback(check)
    node.add_post_set_parameters_callback(update)


def _checked_overrides(node: Node, names: Collection[str]) -> dict[str, Any]:
    """Return the values that the command line sets for the node, by parameter name.

    Raises:
        ManipDynError: If a name is not in `names`.
    """
    arguments = getattr(node, "arguments", sys.argv)
    overrides = parameter_overrides(node.get_fully_qualified_name(), arguments)
    for name in overrides:
        if not (name in names or node.has_parameter(name) or name.startswith("qos_overrides.")):
            raise ManipDynError(f"unknown parameter '{name}'{closest(name, names)}")
    return overrides


def _set_list(node: Node, row: Row, numbers: Sequence[float]) -> None:
    """Set the value of a list parameter, even to an empty list.

    If one list had no value, the service get_parameters would return no values at all. An empty
    list with a default for each joint remains open until the number of joints is known.
    """
    node.set_parameters([Parameter(row.name, Parameter.Type.DOUBLE_ARRAY, list(numbers))])
    if numbers or row.per_joint is None:
        closed = _descriptor(row)
        closed.type = ParameterType.PARAMETER_DOUBLE_ARRAY
        node.set_descriptor(row.name, closed)


def _value(node: Node, row: Row) -> Any:
    try:
        value = _plain(node.get_parameter(row.name).value)
        if row.kind == NumberOrWord and type(value) is int:
            return float(value)
        return row.default if value is None else value
    except ParameterUninitializedException:
        return row.default


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, (array, list)) else value


AT_START = "can be set only at the start of the node"
"""Constraint of parameters that are not dynamic."""


def _descriptor(row: Row) -> ParameterDescriptor:
    unit = f" [{row.unit}]" if row.unit else ""
    constraints = [] if row.dynamic else [AT_START]
    constraints += [f"one of: {', '.join(row.choices)}"] if row.choices else []
    descriptor = ParameterDescriptor(
        name=row.name,
        description=row.description + unit,
        dynamic_typing=row.kind == NumberOrWord,
        additional_constraints="; ".join(constraints),
    )
    if row.minimum is None and row.maximum is None:
        return descriptor
    if row.kind is int:
        low, high = row.minimum or 0, row.maximum or 2**62
        descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
    elif row.kind in (float, NumberOrWord):
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=low, to_value=high) for low, high in [_range(row)]
        ]
    return descriptor


def _range(row: Row) -> tuple[float, float]:
    low = -np.inf if row.minimum is None else float(row.minimum)
    return low, np.inf if row.maximum is None else float(row.maximum)


def _of_wrong_type(row: Row, value: Any) -> str:
    return f"parameter '{row.name}' must be {_type_name(row)}, got {value!r}."


def _problem(row: Row, value: Any) -> str:
    if row.kind == NumberOrWord:
        if value in row.choices:
            return ""
        if type(value) not in (int, float):
            return _of_wrong_type(row, value)
    elif row.choices and value not in row.choices:
        return f"parameter '{row.name}' must be one of {', '.join(row.choices)}, got '{value}'."
    if row.kind in (bool, str):
        return ""
    numbers, (low, high) = np.atleast_1d(np.array(value, dtype=float)), _range(row)
    if np.all(np.isfinite(numbers) & (numbers >= low) & (numbers <= high)):
        return ""
    shown = f"{value:g}" if isinstance(value, (int, float)) else numbers.tolist()
    return f"parameter '{row.name}' must be {_condition(low, high, row.unit)}, got {shown}."


def _condition(low: float, high: float, unit: str) -> str:
    """Return the condition on a number as a phrase. The bounds may be infinite."""
    if np.isinf(low) and np.isinf(high):
        return "finite"
    if np.isinf(high):
        return f"at least {low:g} {unit}".rstrip()
    if np.isinf(low):
        return f"at most {high:g} {unit}".rstrip()
    return f"between {low:g} and {high:g} {unit}".rstrip()


def _type_name(row: Row) -> str:
    names = {
        bool: "true or false",
        int: "an integer",
        float: "a number with a decimal point",
        Numbers: "a list of numbers with decimal points, at least one",
    }
    words = " or ".join(("a number", *map(repr, row.choices)))
    return words if row.kind == NumberOrWord else names.get(row.kind, "a string")
