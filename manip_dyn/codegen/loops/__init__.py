"""Rigid-body dynamics in compiled loops over the joints, for long chains."""
