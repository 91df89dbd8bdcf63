"""Rigid-body dynamics over any scalar, and the catalogue of what is generated from it."""
