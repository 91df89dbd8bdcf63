"""Repairs of switching structures: variants for extremals that violate a condition."""
