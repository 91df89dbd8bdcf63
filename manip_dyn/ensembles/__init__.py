"""Many motions side by side: in SIMD lanes, on all cores, and as sweeps."""

from manip_dyn.ensembles.ensemble import Ensemble, OverTime
from manip_dyn.ensembles.pd_control import PDControl
from manip_dyn.ensembles.simulate_many import simulate_many

__all__ = ["Ensemble", "OverTime", "PDControl", "simulate_many"]
