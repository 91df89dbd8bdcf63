"""Minimum time for many joints: splines that keep all limits, with a bound on what they lack."""
