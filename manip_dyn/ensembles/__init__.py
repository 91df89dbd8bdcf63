"""Many motions side by side: in SIMD lanes, on all cores, and as sweeps."""

from typing import TYPE_CHECKING

from manip_dyn.core.imports import lazy_names

if TYPE_CHECKING:
    from manip_dyn.ensembles.ensemble import Ensemble, OverTime
    from manip_dyn.ensembles.simulate_many import simulate_many
else:
    __getattr__, __dir__ = lazy_names(  # a sweep's workers need no lanes
        __name__,
        {
            "ensemble": ("Ensemble", "OverTime"),
            "simulate_many": ("simulate_many",),
            "sweeps": (),
        },
    )

__all__ = ["Ensemble", "OverTime", "simulate_many"]
