"""Structures are put in order."""

import numpy as np

from manip_dyn.planning.minimum_time.extremals.controls import full
from manip_dyn.planning.minimum_time.extremals.structure import Switching


def test_structures_are_tidied():
    switching = Switching(
        (full(1.0), full(-1.0)),
        (0, 0, 1),
        (full(-1.0), full(1.0), full(1.0)),
        np.array([2, 1, -1]),
        3,
    )
    tidy = switching.tidied()
    assert tidy.controls == (full(1.0), full(1.0))
    assert tidy.joints == ()
