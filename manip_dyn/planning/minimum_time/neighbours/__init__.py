"""Structures beside those of extremals that lack something."""
