"""The time loop and every kind of step as plain Python, with the compiler off."""

import json
import os

import numpy as np
import pytest
from fresh import output_of
from impacts import BOUNCE, ball, height, hit, thrown
from problems import NO_SCRIPT, curve, pendulum_series, scripted
from swings import WAYS, swing

import manip_dyn as md

SCRIPT = """
import json, sys
sys.path[:0] = {folders!r}
from test_plain import motions
print(json.dumps(motions()))
"""


PENDULUM, DENSE = md.Series(pendulum_series, 2), md.Sampling(dense=True)
IMPACTS = md.Events(height, terminal=False, direction=-1, action=hit)
RUNS = [
    (scripted, curve(0.0), NO_SCRIPT, {"method": "rk4", "step": 0.1}),
    (
        *(scripted, curve(0.0), NO_SCRIPT),
        {"method": "rk4", "step": 0.1, "t_switch": [0.55], "sampling": [0.33, 1.0]},
    ),
    (
        *(scripted, curve(0.0), NO_SCRIPT),
        {"method": "rkf45", "rtol": 1e-6, "control": md.StepControl("paper", "rms")},
    ),
    (*(scripted, curve(0.0), NO_SCRIPT), {"method": "abm4", "step": 0.1, "sampling": DENSE}),
    (scripted, curve(0.0), NO_SCRIPT, {"method": "rodas5p", "rtol": 1e-5}),
    (
        *(swing, [1.0, 0.5, 0.0], None),
        {
            "method": "rosenbrock_nystrom",
            "step": 0.1,
            "jacobian": WAYS["differences, second order"],
        },
    ),
    (
        *(swing, [1.0, 0.5, 0.0], None),
        {
            "method": "rosenbrock_nystrom",
            "rtol": 1e-4,
            "jacobian": WAYS["mass"],
            "control": md.StepControl(estimate="scaled"),
        },
    ),
    (ball, [1.0, 0.0], thrown(spring=50.0), {"method": "rkdp54", "rtol": 1e-6, "events": height}),
    (
        *(ball, [1.0, 0.0], thrown(spring=50.0, reply=BOUNCE)),
        {"method": "rkdp54", "rtol": 1e-6, "events": IMPACTS, "sampling": DENSE},
    ),
    (PENDULUM, [2.0, 0.0], None, {"method": "taylor", "rtol": 1e-9}),
]
"""Motions whose loops other tests compile as well: functions, starts, parameters, the rest."""


def motions():
    """Return final states and counts of one motion for each kind of step and option."""
    found = [md.integrate(rhs, (0.0, 1.25), y0, p=p, **options) for rhs, y0, p, options in RUNS]
    return [
        {"y": each.y_last.tolist(), "counts": [each.steps, each.failures, each.evaluations]}
        for each in found
    ]


@pytest.fixture(scope="module")
def plain():
    here = os.path.dirname(__file__)
    script = SCRIPT.format(folders=[here, os.path.dirname(here)])
    return json.loads(output_of(script, NUMBA_DISABLE_JIT="1"))


def test_without_the_compiler_the_motions_are_the_same(plain):
    for slow, fast in zip(plain, motions(), strict=True):
        assert slow["counts"] == fast["counts"]
        np.testing.assert_allclose(slow["y"], fast["y"], rtol=1e-9, atol=1e-11)
