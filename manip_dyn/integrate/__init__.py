"""Initial value problems; knows nothing of robots."""

from manip_dyn.integrate.runge_kutta import RightHandSide, rk4_step

__all__ = ["RightHandSide", "rk4_step"]
