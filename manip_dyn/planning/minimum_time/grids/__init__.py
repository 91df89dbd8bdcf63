"""Approximate minimum-time motions on time grids."""
