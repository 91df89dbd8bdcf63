"""What becomes of a case: a row, also where it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import truth
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.results import Result

Row = dict[str, Any]
Function = Callable[..., Mapping[str, Any]]


class Chunk(NamedTuple):
    """Cases that are sent to a worker together, by the number of the first of them."""

    number: int
    first: int
    cases: list[dict[str, Any]]
    faults: Mapping[int, str] = {}
    """Why cases of it cannot be done, by their numbers, see `Cases.faults`."""


def solved(function: Function, chunk: Chunk) -> list[Row]:
    """Return the rows of a chunk, each case by itself."""
    rows = []
    for number, case in enumerate(chunk.cases, chunk.first):
        fault = chunk.faults.get(number)
        refused = fault and failed(number, case, "refused", fault)
        rows.append(refused or row(function, number, case))
    return rows


def row(function: Function, number: int, case: Mapping[str, Any]) -> Row:
    """Return the row of a case: its number, its values, the results, and how it ended.

    What the function returns under ``success``, ``status`` and ``reason`` says how it ended. An
    exception is a row with the status ``refused`` for a `ManipDynError`, else ``error``.
    """
    try:
        found = _plain(function(**case))
        success = truth("the result 'success'", found.pop("success", True))
        for name in found:
            if name in ("case", *case):
                raise ManipDynError(f"the function returns '{name}', which is the case's own name")
    except ManipDynError as error:
        return failed(number, case, "refused", str(error))
    except (Exception, SystemExit) as error:
        return failed(number, case, "error", f"{type(error).__name__}: {error}")
    status = str(found.pop("status", "done" if success else "failed"))
    reason = _told(found.pop("reason", ""))
    ending = {"success": success, "status": status, "reason": reason}
    return {"case": number, **case, **found, **ending}


def failed(number: int, case: Mapping[str, Any], status: str, reason: str) -> Row:
    """Return the row of a case without results."""
    reason = _told(reason)
    return {"case": number, **case, "success": False, "status": status, "reason": reason}


def _told(reason: Any) -> str:
    """Return a reason on one line, as any file can keep it."""
    text = " ".join(str(reason or "").split())
    return text.encode("utf-8", "backslashreplace").decode()


def lost(chunk: Chunk) -> list[Row]:
    """Return the rows of a chunk on which every worker died."""
    reason = "the worker process died on this case, again and again"
    return [failed(chunk.first + i, case, "lost", reason) for i, case in enumerate(chunk.cases)]


def apart(chunk: Chunk) -> list[Chunk]:
    """Return chunks of one case each."""
    cases = enumerate(chunk.cases, chunk.first)
    return [Chunk(chunk.number, number, [case], chunk.faults) for number, case in cases]


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
