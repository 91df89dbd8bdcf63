"""An effort law that is a function, tried in Python before it is compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from manip_dyn.core.errors import ManipDynError
from manip_dyn.integration.user_functions import failing


def check_size(law: Any, start: tuple[Any, ...], n: int) -> None:
    """Try a law in Python: compiled code would read what lies behind arrays that are too short.

    What Python cannot compute, compiled code may.

    Args:
        law: ``law(t, q, v)`` or ``law(t, q, v, p)``.
        start: Some that it may be called with.
        n: How many efforts there should be.
    """
    try:
        with np.errstate(all="ignore"):
            shape = np.shape(law(*start))
    except IndexError as error:
        expected = f"q and v of {n} numbers"
        expected += f", p of {len(start[3])}" if start[3:] else ""
        raise failing("the effort law", law, error, expected) from error
    except Exception:
        return
    if shape != (n,):
        raise ManipDynError(f"the effort law returns an array of shape {shape}; expected {(n,)}")
