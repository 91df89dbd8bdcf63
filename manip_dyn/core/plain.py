"""Whether everything runs as plain Python, for a debugger: with ``NUMBA_DISABLE_JIT=1``."""

from __future__ import annotations

from numba import config

PLAIN = bool(getattr(config, "DISABLE_JIT", 0))
