"""Approximate minimum-time motions on grids of time."""
