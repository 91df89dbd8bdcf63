"""Dynamics, kinematics and time-optimal control of robot manipulators.

The public names are listed in ``__init__.pyi`` and imported on first use.
"""

from manip_dyn.core.imports import lazy_package
from manip_dyn.core.version import VERSION

__getattr__, __dir__, __all__ = lazy_package(
    __name__,
    deprecated={
        "Options": "manip_dyn.integration.Options",
        "Space": "manip_dyn.integration.Space",
        "check": "manip_dyn.check_urdf",
        "compile_engine": "manip_dyn.integration.compile_engine",
        "excitation": "manip_dyn.plan_excitation",
        "simulate_by_adams": "manip_dyn.multibody.simulate_by_adams",
        "view_motion": "manip_dyn.viewer.view_motion",
    },
)
__version__ = VERSION
