"""Kernels as C99 source, a second backend for straight-line programs."""

from manip_dyn.export.c99.package import export_c

__all__ = ["export_c"]
