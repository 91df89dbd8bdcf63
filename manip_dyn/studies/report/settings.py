"""Settings of a study: a frozen dataclass with checked fields, read from a YAML file.

    @dataclass(frozen=True)
    class Settings:
        gain: float = checked(positive, unit="1/s")
        circles: Mapping[str, Placement] = checked(records_by_name(Placement))

    settings = read_settings("sariyildiz2011", Settings)

To add a setting, add a line to the dataclass and a line to the file.
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
"""Function of a name and a value. It returns the valid value or raises `ManipDynError`."""


def read_settings(paper: str, kind: type[T], path: str | Path | None = None) -> T:
    """Return the settings in a YAML file.

    Args:
        paper: Name of the paper.
        kind: Dataclass of the settings.
        path: Path of the file. Default: the shipped file of the paper.

    Raises:
        ManipDynError: If the file cannot be read, a key is duplicate, unknown or missing, or a
            value is invalid.
    """
    file = Path(path) if path else settings_file(paper)
    return read_yaml(file, partial(_record, kind, "the file", ""))


def settings_file(paper: str) -> Path:
    """Return the path of the shipped settings file of a paper."""
    return share_directory() / "config" / f"{paper}.yaml"


def checked(check: Check, default: Any = MISSING, **options: Any) -> Any:
    """Return a field of a settings dataclass.

    Args:
        check: Function that checks and converts the value.
        default: Default value. Without a default, the file must contain a value.
        **options: Options of `check`, such as a unit.
    """
    return field(default=default, metadata={"check": partial(check, **options)})


# -------------------------------------------------------------------------- checks
def record_of(kind: type[T]) -> Check:
    """Return a check that creates a settings dataclass."""
    return lambda name, value: _record(kind, name, f" of {name}", value)


def records_by_name(kind: type) -> Check:
    """Return a check that creates a mapping from names to settings dataclasses."""

    def check(name: str, value: Any) -> dict[str, Any]:
        if not isinstance(value, dict) or not value:
            raise ManipDynError(f"{name} must be a mapping from names to entries, got {value!r}.")
        return {key: record_of(kind)(str(key), entry) for key, entry in value.items()}

    return check


def list_of(check: Check) -> Check:
    """Return a check for a non-empty list. It applies `check` to every value."""

    def check_all(name: str, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or not value:
            raise ManipDynError(f"{name} must be a non-empty list, got {value!r}.")
        return tuple(check(name, entry) for entry in value)

    return check_all


def numbers(name: str, value: Any) -> Vector:
    """Check a non-empty list of finite numbers and return it as an array (n,).

    Raises:
        ManipDynError: If the value is invalid.
    """
    if not isinstance(value, list) or not value:
        raise ManipDynError(f"{name} must be a list of numbers, got {value!r}.")
    return finite_vector(name, value, len(value))


def positive_integer(name: str, value: Any) -> int:
    """Return `value`, or raise `ManipDynError` if it is not a positive integer."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ManipDynError(f"{name} must be a positive integer, got {value!r}.")
    return value


def boolean(name: str, value: Any) -> bool:
    """Return `value`, or raise `ManipDynError` if it is not a boolean."""
    if not isinstance(value, bool):
        raise ManipDynError(f"{name} must be true or false, got {value!r}.")
    return value


def string(name: str, value: Any) -> str:
    """Return `value`, or raise `ManipDynError` if it is not a string."""
    if not isinstance(value, str):
        raise ManipDynError(f"{name} must be a string, got {value!r}.")
    return value


def check_names(name: str, names: Iterable[Any], allowed: Iterable[str]) -> None:
    """Raise `ManipDynError` if one of `names` is not in `allowed`."""
    allowed = list(allowed)
    for entry in names:
        if entry not in allowed:
            hint = closest(str(entry), allowed)
            raise ManipDynError(f"{name} must be defined names, got '{entry}'{hint}")


def _record(kind: type[T], name: str, suffix: str, value: Any) -> T:
    """Create a dataclass from a mapping. Error messages append `suffix` to names of fields."""
    entries: tuple[Field, ...] = fields(kind)  # type: ignore[arg-type]
    needed = [entry.name for entry in entries if entry.default is MISSING]
    values = mapping(name, value, [entry.name for entry in entries], needed)
    arguments = {
        entry.name: entry.metadata["check"](f"{entry.name}{suffix}", values[entry.name])
        for entry in entries
        if entry.name in values
    }
    return kind(**arguments)
