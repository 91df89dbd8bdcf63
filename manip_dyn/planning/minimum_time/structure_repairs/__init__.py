"""Repairs of switching structures: variants to try when an extremal violates a condition."""
