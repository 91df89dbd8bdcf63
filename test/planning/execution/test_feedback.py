"""Gains and thresholds."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.planning import Tuning


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stiffness": -1.0}, "stiffness is -1 1/s.2"),
        ({"damping": np.nan}, "damping is nan 1/s"),
        (
            {"integral": 1e6},
            "integral must be at most stiffness times damping, 16000 1/s.3, got 1e.06 1/s.3",
        ),
        ({"off_plan": "far"}, "off_plan is 'far'; expected a number"),
        ({"off_plan": 0.0}, "off_plan is 0; expected a number above 0"),
        ({"tolerance": 0.0}, "tolerance is 0; expected a number above 0"),
    ],
)
def test_invalid_tuning_raises(options, words):
    with pytest.raises(md.ManipDynError, match=words):
        Tuning(**options)
