"""Coefficients of methods, exact, and what follows from them."""
