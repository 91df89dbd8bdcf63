"""What a URDF's text alone tells: rules from its elements to findings."""

from manip_dyn.inspection.rules.every import findings_in

__all__ = ["findings_in"]
