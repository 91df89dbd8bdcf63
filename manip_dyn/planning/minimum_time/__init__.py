"""Minimum-time planning: grids, structures, extremals and certificates."""
