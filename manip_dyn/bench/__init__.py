"""Timings of this package, most beside its peers in one process: a module for each suite."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

SUITES = ("dynamics", "growth", "clik", "integrators", "planning", "stiff", "cold")


def suite(name: str) -> Callable[..., Any]:
    """Return the function that times a suite."""
    return getattr(import_module(f"manip_dyn.bench.{name}"), f"bench_{name}")


__all__ = ["SUITES", "suite"]
