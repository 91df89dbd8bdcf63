"""Exact minimum time: linear programs, extremals, certificates."""
