"""A URDF inspected: what is wrong with it, and what other programs make of it."""

from manip_dyn.inspection.findings import Agreement, Finding, Inspection
from manip_dyn.inspection.urdf_check import check_urdf

check = check_urdf
"""The name of `check_urdf` before 0.3."""

__all__ = ["Agreement", "Finding", "Inspection", "check", "check_urdf"]
