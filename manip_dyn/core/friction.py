"""Where Coulomb friction begins, for those who simulate it and those who compensate it."""

from __future__ import annotations

CREEP = 0.05
"""Speed v0 of F tanh(v / v0), rad/s or m/s."""
