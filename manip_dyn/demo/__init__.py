"""Demo scenarios, which `manip_dyn demo` runs without `ros2 launch`.

The public names are listed in ``__init__.pyi`` and imported on first use.
"""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
