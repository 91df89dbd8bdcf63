"""An effort law that is a function, tried in Python before it is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from manip_dyn.core.errors import ManipDynError
from manip_dyn.integrate.functions import failing


def width_of(parameters: Any) -> int:
    """Return how many parameters there are for each motion."""
    try:
        shape = np.shape(parameters)
    except ValueError:
        shape = ()
    if len(shape) not in (1, 2):
        raise ManipDynError(f"parameters is {parameters!r}; expected numbers (k,) or (N, k)")
    return int(shape[-1])


def check_size(law: Any, start: tuple[Any, ...], n: int) -> None:
    """Try a law in Python: compiled code would read what lies behind arrays that are too short.

    What Python cannot compute, such as a division by zero, compiled code may.
    """
    try:
        with np.errstate(all="ignore"):
            shape = np.shape(law(*start))
    except IndexError as error:
        raise failing("the effort law", law, error, f"q and v of {n} numbers") from error
    except Exception:
        return
    if shape != (n,):
        raise ManipDynError(f"the effort law returns an array of shape {shape}; expected {(n,)}")
