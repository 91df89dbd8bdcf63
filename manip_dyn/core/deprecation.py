"""Deprecated names, which work until version 0.4 and raise a DeprecationWarning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def warn_deprecated(old: str, new: str, stacklevel: int = 3) -> None:
    """Warn the caller of the calling function that a name has been replaced.

    Args:
        old: The old name.
        new: The name that replaces it.
        stacklevel: The `stacklevel` of `warnings.warn`, counted from this function.
    """
    warnings.warn(
        f"{old} is deprecated and will be removed in 0.4: use {new} instead.",
        DeprecationWarning,
        stacklevel=stacklevel,
    )


def renamed_attribute(old: str, new: str) -> Any:
    """Return a property for the old name of an attribute or method.

    Args:
        old: The old name with its class, such as ``Robot.rubs``.
        new: The name of the attribute.
    """

    def value(instance: Any) -> Any:
        warn_deprecated(old, new)
        return getattr(instance, new)

    return property(value, doc=f"Deprecated: `{new}`.")


def renamed_arguments(**names: str) -> Callable[[Function], Function]:
    """Return a decorator that accepts old names of keyword arguments: ``old="new"``."""

    def decorated(function: Any) -> Any:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            for old in names.keys() & keywords.keys() if keywords else ():
                warn_deprecated(f"{function.__qualname__}({old}=...)", f"{names[old]}=...")
                keywords[names[old]] = keywords.pop(old)
            return function(*arguments, **keywords)

        return call

    return decorated
