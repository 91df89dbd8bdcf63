"""Structures read off motions on grids."""
