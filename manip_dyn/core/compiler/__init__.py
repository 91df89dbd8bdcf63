"""Numba's compiler, made to do no more than is needed."""
