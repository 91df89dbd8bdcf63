"""Minimum time for many joints: splines within all limits, by interior points on grids."""
