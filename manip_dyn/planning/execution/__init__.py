"""Execution of plans with feedback, identification and time scaling."""
