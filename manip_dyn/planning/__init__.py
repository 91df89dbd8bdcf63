"""Time-optimal and near time-optimal control: plans and their execution."""

from manip_dyn.core.imports import lazy_package

# Path timing requires no planner, and plans require no executor.
__getattr__, __dir__, __all__ = lazy_package(__name__)
