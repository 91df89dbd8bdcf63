"""Exact minimum time: linear programs, extremals and their certificates."""
