"""URDF check: find errors and implausible values, and compare the dynamics with other programs."""

from manip_dyn.inspection.comparison import (
    ByEquations as ByEquations,
)
from manip_dyn.inspection.comparison import (
    compare as compare,
)
from manip_dyn.inspection.findings import (
    Agreement as Agreement,
)
from manip_dyn.inspection.findings import (
    Finding as Finding,
)
from manip_dyn.inspection.findings import (
    Inspection as Inspection,
)
from manip_dyn.inspection.peers import (
    PinocchioPeer as PinocchioPeer,
)
from manip_dyn.inspection.urdf_check import (
    check_urdf as check_urdf,
)
