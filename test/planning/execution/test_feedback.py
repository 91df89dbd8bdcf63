"""Gains and thresholds."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.planning import Tuning


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"stiffness": -1.0}, "stiffness must be 0 or more, got -1 1/s.2"),
        ({"damping": np.nan}, "damping must be 0 or more, got nan 1/s"),
        (
            {"integral": 1e6},
            "integral must be at most stiffness times damping, 16000 1/s.3, got 1e.06 1/s.3",
        ),
        ({"off_plan": "far"}, "off_plan must be a number, got 'far'"),
        ({"off_plan": 0.0}, "off_plan must be above 0, got 0"),
        ({"tolerance": 0.0}, "tolerance must be above 0, got 0"),
    ],
)
def test_invalid_tuning_raises(options, words):
    with pytest.raises(md.ManipDynError, match=words):
        Tuning(**options)
