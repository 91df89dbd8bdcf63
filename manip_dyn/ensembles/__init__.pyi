"""Many motions side by side: in SIMD lanes, on all cores, and as sweeps."""

from manip_dyn.ensembles.ensemble import (
    Ensemble as Ensemble,
)
from manip_dyn.ensembles.ensemble import (
    OverTime as OverTime,
)
from manip_dyn.ensembles.simulate_many import (
    simulate_many as simulate_many,
)
