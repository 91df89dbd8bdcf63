"""Modules of the planner node: commands, planning, execution and status."""
