"""Deprecated name of the package `manip_dyn.integration`; to be removed in 0.4.

The function `manip_dyn.integrate` has the same name. Once this module is imported, the name refers
to the module. The module can therefore be called like the function.
"""

import sys
import warnings
from types import ModuleType
from typing import Any

from manip_dyn import integration

warnings.warn(
    "manip_dyn.integrate is deprecated as a package: import manip_dyn.integration instead.",
    DeprecationWarning,
    stacklevel=2,
)


class _Callable(ModuleType):
    """A module with the attributes of `manip_dyn.integration`, callable like `integrate`."""

    def __call__(self, *args: Any, **kwargs: Any) -> integration.Solution:
        """Call `manip_dyn.integration.integrate`."""
        return integration.integrate(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of `manip_dyn.integration`."""
        return getattr(integration, name)


sys.modules[__name__].__class__ = _Callable
