"""Execution of plans: feedback, online switching and time scaling."""
