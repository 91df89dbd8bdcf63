"""Direct dynamics: trajectories from a robot, an effort law and an integrator.

The public names are listed in ``__init__.pyi`` and imported on first use.
"""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
