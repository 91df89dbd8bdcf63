"""Rigid-body dynamics over any scalar, and the catalogue of generated kernels."""
