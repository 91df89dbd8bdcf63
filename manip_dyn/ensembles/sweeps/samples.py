"""Points in a box: random, of Sobol's sequence, of a Latin hypercube; the same for a seed."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Vector, whole_number
from manip_dyn.core.errors import ManipDynError

KINDS = ("random", "sobol", "latin_hypercube")
MOST = 10_000_000
"""Cases of a sweep; each takes some 100 bytes before anything is done."""


def cases(
    kind: str, count: int, seed: int, ranges: Mapping[str, Any]
) -> Iterator[dict[str, float | list[float]]]:
    """Yield `count` cases between the ends (low, high) of each name, numbers or vectors of them.

    Raises:
        ManipDynError: If a number or a range is none.
    """
    for name, value, least in (("count", count, 1), ("seed", seed, 0)):
        whole_number(f"{kind}: {name}", value, least)
    if count > MOST:
        raise ManipDynError(f"{kind}: count is {count}; expected {MOST} at most")
    if not ranges:
        raise ManipDynError(f"{kind}: nothing varies; expected names with [low, high]")
    boxes = {name: _range(f"{kind}: {name}", given) for name, given in ranges.items()}
    low = np.concatenate([np.atleast_1d(box[0]) for box in boxes.values()])
    high = np.concatenate([np.atleast_1d(box[1]) for box in boxes.values()])
    for point in low + (high - low) * _unit(kind, count, seed, len(low)):
        place, case = 0, {}
        for name, (begin, _) in boxes.items():
            size = np.size(begin)
            part = point[place : place + size].tolist()
            case[name], place = part if np.ndim(begin) else part[0], place + size
        yield case


def _unit(kind: str, count: int, seed: int, dimensions: int) -> Matrix:
    """Return points (count, dimensions) in the unit cube."""
    generator = np.random.default_rng(seed)
    if kind == "random":
        return generator.random((count, dimensions))
    from scipy.stats import qmc  # loads slowly

    kinds: dict[str, Any] = {"sobol": qmc.Sobol, "latin_hypercube": qmc.LatinHypercube}
    with warnings.catch_warnings():  # counts need not be powers of two, see `Cases.sobol`
        warnings.simplefilter("ignore", UserWarning)
        return kinds[kind](dimensions, seed=generator).random(count)


def _range(what: str, given: Any) -> tuple[Vector, Vector]:
    try:
        low, high = (np.array(each, dtype=np.float64) for each in given)
    except (TypeError, ValueError) as error:
        raise ManipDynError(f"{what} is {given!r}; expected [low, high]") from error
    if low.shape != high.shape or low.ndim > 1 or not np.all(np.isfinite(high - low)):
        raise ManipDynError(f"{what} is {given!r}; expected two finite numbers, or two lists")
    if np.any(high < low):
        raise ManipDynError(f"{what} is {given!r}; expected low before high")
    return low, high
