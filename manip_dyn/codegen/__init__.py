"""From a robot to its kernels."""

from manip_dyn.codegen.kernels import Kernels, customize

__all__ = ["Kernels", "customize"]
