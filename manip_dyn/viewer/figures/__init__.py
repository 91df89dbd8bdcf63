"""Robots and mechanisms as figures."""
