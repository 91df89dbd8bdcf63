"""Functions that are compiled when they are first called, and kept as machine code on disk."""

from manip_dyn.core.compiled.decorators import compiled, inlined, is_compiled

__all__ = ["compiled", "inlined", "is_compiled"]
