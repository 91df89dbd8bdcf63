"""Viewer of results and running nodes in the browser. Requires the extra ``view``."""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(__name__)
