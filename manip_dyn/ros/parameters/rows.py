"""Parameters as fields of a frozen dataclass, and the table that its fields make.

A node's parameters are declared, checked and documented from fields such as

    step: float = parameter(1e-3, "Integration step", "s", 1e-6, 1.0, dynamic=True)

The field's type is the parameter's: `bool`, `int`, `float`, `str` or `Numbers`. A field whose type
is such a dataclass is a group: its parameters have the field's name as prefix, as in
``circle.center``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import field, fields, is_dataclass, replace
from typing import Any, NamedTuple, TypeVar, get_type_hints

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
