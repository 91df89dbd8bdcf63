"""Planner node: commands, planning in a separate process, execution and status."""
