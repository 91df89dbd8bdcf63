"""Identification of an arm's inertial parameters and friction from its motion."""

from manip_dyn.core.imports import lazy_package

__getattr__, __dir__, __all__ = lazy_package(
    __name__, {"excitation": "manip_dyn.identification.plan_excitation"}
)
