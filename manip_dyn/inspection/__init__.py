"""URDF check: find errors and implausible values, and compare the dynamics with other programs."""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(
    __name__, {"check": "manip_dyn.inspection.check_urdf"}
)
