"""Deprecated names, which issue a DeprecationWarning and will be removed in version 0.4."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def warn_deprecated(old: str, new: str, stacklevel: int = 3) -> None:
    """Issue a DeprecationWarning for a name that has been replaced.

    Args:
        old: The old name.
        new: The name that replaces it.
        stacklevel: Stack level of the warning: 1 is this function, 2 its caller, 3 the caller of
            its caller.
    """
    warnings.warn(
        f"{old} is deprecated and will be removed in 0.4: use {new} instead.",
        DeprecationWarning,
        stacklevel=stacklevel,
    )


def renamed_attribute(old: str, new: str) -> Any:
    """Return a property for the old name of an attribute or method.

    The property issues a DeprecationWarning and returns the attribute or method with the new name.

    Args:
        old: The old name with its class, such as ``Robot.rubs``.
        new: The new name, without the class.
    """

    def value(instance: Any) -> Any:
        warn_deprecated(old, new)
        return getattr(instance, new)

    return property(value, doc=f"Deprecated: `{new}`.")


def renamed_arguments(**names: str) -> Callable[[Function], Function]:
    """Return a decorator for functions with renamed keyword arguments: ``old="new"``."""

    def decorated(function: Any) -> Any:
        @functools.wraps(function)
        def call(*arguments: Any, **keywords: Any) -> Any:
            for old in names.keys() & keywords.keys() if keywords else ():
                warn_deprecated(f"{function.__qualname__}({old}=...)", f"{names[old]}=...")
                keywords[names[old]] = keywords.pop(old)
            return function(*arguments, **keywords)

        return call

    return decorated
