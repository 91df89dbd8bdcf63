"""From a robot to its kernels."""

from manip_dyn.codegen.kernels import Kernels, checked_payload, customize

__all__ = ["Kernels", "checked_payload", "customize"]
