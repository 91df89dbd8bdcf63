"""Effort laws: what drives the joints, as a function of time and state."""
