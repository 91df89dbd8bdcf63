"""Many motions side by side: in SIMD lanes, on all cores, and as sweeps."""

from manip_dyn.ensembles.batch_simulation import (
    simulate_many as simulate_many,
)
from manip_dyn.ensembles.ensemble import (
    Ensemble as Ensemble,
)
from manip_dyn.ensembles.ensemble import (
    OverTime as OverTime,
)
