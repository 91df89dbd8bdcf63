"""Execution of plans with feedback, online switching and time scaling."""
