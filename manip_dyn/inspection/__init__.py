"""A URDF inspected: what is wrong with it, and what other programs make of it."""

from manip_dyn.inspection.check import check
from manip_dyn.inspection.parts.finding import Agreement, Finding, Inspection

__all__ = ["Agreement", "Finding", "Inspection", "check"]
