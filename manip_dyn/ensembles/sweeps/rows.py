"""What becomes of a case: a row, also where it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.result import Result

Row = dict[str, Any]
Function = Callable[..., Mapping[str, Any]]


class Chunk(NamedTuple):
    """Cases that are sent to a worker together, by the number of the first of them."""

    number: int
    first: int
    cases: list[dict[str, Any]]


def solved(function: Function, chunk: Chunk) -> list[Row]:
    """Return the rows of a chunk, each case by itself."""
    return [row(function, chunk.first + i, case) for i, case in enumerate(chunk.cases)]


def row(function: Function, number: int, case: Mapping[str, Any]) -> Row:
    """Return the row of a case: its number, its values, the results, and how it ended.

    What the function returns under ``success``, ``status`` and ``reason`` says how it ended. An
    exception is a row with the status ``refused`` for a `ManipDynError`, else ``error``.
    """
    try:
        found = _plain(function(**case))
    except ManipDynError as error:
        return failed(number, case, "refused", str(error))
    except Exception as error:
        return failed(number, case, "error", f"{type(error).__name__}: {error}")
    success = bool(found.pop("success", True))
    status = str(found.pop("status", "done" if success else "failed"))
    reason = str(found.pop("reason", ""))
    ending = {"success": success, "status": status, "reason": reason}
    return {"case": number, **case, **found, **ending}


def failed(number: int, case: Mapping[str, Any], status: str, reason: str) -> Row:
    """Return the row of a case without results."""
    reason = " ".join(reason.split())
    return {"case": number, **case, "success": False, "status": status, "reason": reason}


def lost(chunk: Chunk) -> list[Row]:
    """Return the rows of a chunk on which every worker died."""
    reason = "the worker process died on this case, again and again"
    return [failed(chunk.first + i, case, "lost", reason) for i, case in enumerate(chunk.cases)]


def apart(chunk: Chunk) -> list[Chunk]:
    """Return chunks of one case each."""
    return [Chunk(chunk.number, chunk.first + i, [case]) for i, case in enumerate(chunk.cases)]


def _plain(result: Any) -> Row:
    """Return results as a table keeps them: plain numbers, texts, lists of numbers."""
    if result is None:
        return {}
    if isinstance(result, Result):
        raise ManipDynError(
            f"the function returns a {type(result).__name__}; expected a dictionary with the "
            "numbers of it that are to be kept"
        )
    if not isinstance(result, Mapping):
        raise ManipDynError(
            f"the function returns a {type(result).__name__}; expected a dictionary of results"
        )
    return {str(name): _value(value) for name, value in result.items()}


def _value(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value
