"""Extremals: motions that satisfy Pontryagin's conditions, computed by shooting."""
