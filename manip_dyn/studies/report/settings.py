"""Settings of a study: a frozen dataclass whose fields say how each is checked, and its YAML file.

    @dataclass(frozen=True)
    class Settings:
        gain: float = checked(positive, unit="1/s")
        circles: Mapping[str, Circle] = checked(by_name(Circle))

    settings = read_settings("sariyildiz2011", Settings)

A new setting is a line there and one in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, field, fields
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from manip_dyn.core.checks import Vector, finite_vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import mapping, read_yaml, share_directory

T = TypeVar("T")
Check = Callable[[str, Any], Any]
"""Takes what a value is and the value; returns it clean or raises `ManipDynError`."""


def read_settings(paper: str, kind: type[T], path: str | Path | None = None) -> T:
    """Return the settings in a YAML file; default: the paper's shipped one.

    Raises:
        ManipDynError: If the file has a key twice, one that is unknown, lacks one, or has a value
            that its field refuses; the sentence begins with the file.
    """
    file = Path(path) if path else share_directory() / "config" / f"{paper}.yaml"
    return read_yaml(file, partial(_record, kind, "the file", ""))


def checked(check: Check, default: Any = MISSING, **options: Any) -> Any:
    """Return a field of a settings dataclass.

    Args:
        check: What its value goes through.
        default: What it is where the file does not have it; not given: it must have it.
        **options: For `check`, such as a unit.
    """
    return field(default=default, metadata={"check": partial(check, **options)})


# -------------------------------------------------------------------------- checks
def record_of(kind: type[T]) -> Check:
    """Return the check of a settings record."""
    return lambda what, value: _record(kind, what, f" of {what}", value)


def records_by_name(kind: type) -> Check:
    """Return the check of settings records by name."""

    def check(what: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or not value:
            raise ManipDynError(f"{what} is {value!r}; expected entries by name")
        return {name: record_of(kind)(str(name), each) for name, each in value.items()}

    return check


def list_of(check: Check) -> Check:
    """Return the check of a list, not an empty one, whose values are checked alike."""

    def check_all(what: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or not value:
            raise ManipDynError(f"{what} is {value!r}; expected a list")
        return tuple(check(what, entry) for entry in value)

    return check_all


def numbers(what: str, value: Any) -> Vector:
    """Return a list of finite numbers as an array (n,)."""
    if not isinstance(value, list) or not value:
        raise ManipDynError(f"{what} is {value!r}; expected a list of numbers")
    return finite_vector(what, value, len(value))


def positive_integer(what: str, value: Any) -> int:
    """Return `value` if it is a whole number above 0."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ManipDynError(f"{what} is {value!r}; expected a whole number above 0")
    return value


def boolean(what: str, value: Any) -> bool:
    """Return `value` if it is true or false."""
    if not isinstance(value, bool):
        raise ManipDynError(f"{what} is {value!r}; expected true or false")
    return value


def string(what: str, value: Any) -> str:
    """Return `value` if it is text."""
    if not isinstance(value, str):
        raise ManipDynError(f"{what} is {value!r}; expected a name")
    return value


def check_names(what: str, names: Iterable[Any], among: Iterable[str]) -> None:
    """Refuse names that are not among others."""
    among = list(among)
    for name in names:
        if name not in among:
            raise ManipDynError(f"{what} has '{name}'{closest(str(name), among)}")


def _record(kind: type[T], what: str, suffix: str, value: Any) -> T:
    """Return a record; its fields are called by their name and `suffix`."""
    entries: tuple[Field, ...] = fields(kind)  # type: ignore[arg-type]
    needed = [entry.name for entry in entries if entry.default is MISSING]
    values = mapping(what, value, [entry.name for entry in entries], needed)
    found = {
        entry.name: entry.metadata["check"](f"{entry.name}{suffix}", values[entry.name])
        for entry in entries
        if entry.name in values
    }
    return kind(**found)
