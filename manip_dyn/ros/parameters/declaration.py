"""Node parameters: fields of a frozen dataclass, declared on a node, checked and described."""

from __future__ import annotations

import inspect
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

Numbers = tuple[float, ...]
"""The type of a list of numbers; not set, it is empty."""

P = TypeVar("P")
"""A dataclass of parameters."""


class Row(NamedTuple):
    """One parameter.

    Attributes:
        name: Its name, with the prefixes of its groups.
        kind: Its type.
        default: Its default, of that type.
        description: What it is.
        unit: Its unit, if it has one.
        minimum: Its smallest value, if there is one.
        maximum: Its largest value, if there is one.
        choices: What it can be, if that is one of some.
        dynamic: Whether it can be set while the node runs, and not only at its start.
        each: What a list that is not set has for each joint, if it then has anything.
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
    each: float | None = None


def parameter(
    default: Any,
    description: str,
    unit: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    choices: tuple[str, ...] = (),
    dynamic: bool = False,
    each: float | None = None,
) -> Any:
    """Return a dataclass field that is a parameter, see `Row`."""
    said: dict[str, Any] = {"description": description, "unit": unit}
    said |= {"minimum": minimum, "maximum": maximum}
    said |= {"choices": choices, "dynamic": dynamic, "each": each}
    return field(default=default, metadata=said)


def group(kind: type) -> Any:
    """Return a dataclass field that is a group of parameters."""
    return field(default_factory=kind)


def default_of(function: Callable[..., Any], name: str) -> Any:
    """Return the default of an argument of the core, so that it stands there alone."""
    default = inspect.signature(function).parameters[name].default
    if default is inspect.Parameter.empty:
        raise TypeError(f"argument '{name}' of {function} has no default")
    return default


def rows(kind: Any) -> list[Row]:
    """Return the parameters of a dataclass, those of its bases first."""
    found, types = [], get_type_hints(kind)
    for each in fields(kind):
        if is_dataclass(types[each.name]):
            inner = rows(types[each.name])
            found += [row._replace(name=f"{each.name}.{row.name}") for row in inner]
        else:
            found.append(Row(each.name, types[each.name], each.default, **each.metadata))
    return found


def with_values(parameters: P, values: Mapping[str, Any]) -> P:
    """Return `parameters` with other values, by the names of their rows."""
    given: dict[str, Any] = {}
    for each in fields(parameters):  # type: ignore[arg-type]  # P is one
        present, prefix = getattr(parameters, each.name), f"{each.name}."
        if is_dataclass(present):
            inner = {n.removeprefix(prefix): v for n, v in values.items() if n.startswith(prefix)}
            given[each.name] = with_values(present, inner)
        elif each.name in values:
            given[each.name] = values[each.name]
    return replace(parameters, **given)  # type: ignore[type-var]


def declare(node: Node, kind: type[P]) -> P:
    """Declare the parameters of a dataclass on `node` and return them with their values.

    Raises:
        ManipDynError: If a parameter given to the node is unknown, of a wrong type, out of
            range or not finite.
    """
    table = rows(kind)
    _refuse_misspelt(node, [row.name for row in table])
    for row in table:
        is_list = row.kind == Numbers
        default = Parameter.Type.DOUBLE_ARRAY if is_list else row.default
        try:
            node.declare_parameter(row.name, default, _descriptor(row, still_open=is_list))
        except (InvalidParameterTypeException, ValueError) as error:
            raise ManipDynError(
                f"parameter '{row.name}' is {_given(node, row)!r}; expected {_type_name(row)}"
            ) from error
        except InvalidParameterValueException as error:
            raise ManipDynError(_problem(row, _given(node, row)) or str(error)) from error
        problem = _problem(row, _value(node, row))
        if problem:
            raise ManipDynError(problem)
        if is_list:
            _set_list(node, row, _value(node, row))
    return with_values(kind(), {row.name: _value(node, row) for row in table})


def declare_joints(node: Node, kind: type, joints: int) -> None:
    """Give lists that are not set what they then have for each joint, for those who ask the node.

    Args:
        node: The node, on which the dataclass is declared.
        kind: The dataclass.
        joints: How many joints the robot has.
    """
    for row in rows(kind):
        if row.each is not None and not _value(node, row):
            _set_list(node, row, (row.each,) * joints)


def on_change(
    node: Node,
    parameters: P,
    apply: Callable[[P], None],
    refuse: Callable[[P, Collection[str]], str] = lambda _parameters, _changed: "",
) -> None:
    """Check every later set; hand the parameters to `apply` once they are accepted.

    Args:
        node: The node.
        parameters: As they are now.
        apply: Takes the parameters as they are then.
        refuse: Returns what is wrong with parameters that are good each for itself, or nothing;
            it takes them as they would be, and the names of those that change.
    """
    table = {row.name: row for row in rows(type(parameters))}
    present = parameters

    def changed(given: list[Parameter]) -> dict[str, Any]:
        return {each.name: _plain(each.value) for each in given if each.name in table}

    def check(given: list[Parameter]) -> SetParametersResult:
        values = changed(given)
        problems = (_problem(table[name], value) for name, value in values.items())
        reason = next(filter(None, problems), "")
        reason = reason or refuse(with_values(present, values), values.keys())
        return SetParametersResult(successful=not reason, reason=reason)

    def take(given: list[Parameter]) -> None:
        nonlocal present
        present = with_values(present, changed(given))
        apply(present)

    node.add_on_set_parameters_callback(check)
    node.add_post_set_parameters_callback(take)


def _set_list(node: Node, row: Row, numbers: Sequence[float]) -> None:
    """Give a list a value, be it empty: one without any spoils the answer to who asks for many.

    An empty one that has something for each joint stays open until the joints are known.
    """
    node.set_parameters([Parameter(row.name, Parameter.Type.DOUBLE_ARRAY, list(numbers))])
    if numbers or row.each is None:
        closed = _descriptor(row)
        closed.type = ParameterType.PARAMETER_DOUBLE_ARRAY
        node.set_descriptor(row.name, closed)


def _value(node: Node, row: Row) -> Any:
    try:
        value = _plain(node.get_parameter(row.name).value)
        return row.default if value is None else value
    except ParameterUninitializedException:
        return row.default


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, (array, list)) else value


def _given(node: Node, row: Row) -> Any:
    return node._parameter_overrides[row.name].value


def _refuse_misspelt(node: Node, names: Collection[str]) -> None:
    if not hasattr(node, "_parameter_overrides"):
        raise ManipDynError("this rclpy does not tell which parameters a node was given")
    for name in node._parameter_overrides:
        known = name in names or node.has_parameter(name) or name.startswith("qos_overrides.")
        if not known:
            raise ManipDynError(f"unknown parameter '{name}'{closest(name, names)}")


def _descriptor(row: Row, still_open: bool = False) -> ParameterDescriptor:
    unit = f" [{row.unit}]" if row.unit else ""
    descriptor = ParameterDescriptor(
        name=row.name,
        description=row.description + unit,
        read_only=not (row.dynamic or still_open),
        additional_constraints=f"one of: {', '.join(row.choices)}" if row.choices else "",
    )
    if row.minimum is None and row.maximum is None:
        return descriptor
    if row.kind is int:
        low, high = row.minimum or 0, row.maximum or 2**62
        descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
    elif row.kind is float:
        descriptor.floating_point_range = [
            FloatingPointRange(from_value=low, to_value=high) for low, high in [_range(row)]
        ]
    return descriptor


def _range(row: Row) -> tuple[float, float]:
    low = -np.inf if row.minimum is None else float(row.minimum)
    return low, np.inf if row.maximum is None else float(row.maximum)


def _problem(row: Row, value: Any) -> str:
    """Return what is wrong with `value`, or an empty string."""
    if row.choices and value not in row.choices:
        return f"parameter '{row.name}' is '{value}'; expected one of {', '.join(row.choices)}"
    if row.kind in (bool, str):
        return ""
    numbers, (low, high) = np.atleast_1d(np.array(value, dtype=float)), _range(row)
    if np.all(np.isfinite(numbers) & (numbers >= low) & (numbers <= high)):
        return ""
    wanted = "finite numbers" if np.isinf([low, high]).all() else f"{low:g} to {high:g}"
    shown = f"{value:g}" if isinstance(value, (int, float)) else numbers.tolist()
    return f"parameter '{row.name}' is {shown}; expected {wanted} {row.unit}".rstrip()


def _type_name(row: Row) -> str:
    names = {
        bool: "true or false",
        int: "an integer",
        float: "a number with a decimal point",
        Numbers: "a list of numbers with decimal points, at least one",
    }
    return names.get(row.kind, "text")
