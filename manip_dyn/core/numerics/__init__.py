"""Numerical methods that several layers use."""
