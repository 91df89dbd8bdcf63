"""The time loop and every kind of step as plain Python, with the compiler off."""

import json
import os

import numpy as np
import pytest
from fresh import output_of

import manip_dyn as md

SCRIPT = """
import json, sys
sys.path.insert(0, {folder!r})
from test_plain import motions
print(json.dumps(motions()))
"""


def swing(t, y, p, out):
    """A shaken pendulum that is braked."""
    out[0] = y[1]
    out[1] = -np.sin(y[0]) - 0.1 * y[1] + 0.5 * np.cos(2.0 * t)


def height(t, y, p, out):
    out[0] = y[0]


def bounce(index, t, y, p):
    y[1] = -0.9 * y[1]


def series(t, y, p, order, work, out):
    """y' = -y."""
    out[0, 0] = y[0]
    for k in range(order):
        out[k + 1, 0] = -out[k, 0] / (k + 1)


def motions():
    """Return final states and counts of one motion for each kind of step and option."""
    impacts = md.Events(height, direction=-1, terminal=False, action=bounce)
    second_order = md.Jacobian(positions=1)
    runs = [
        {"method": "rk4", "step": 0.1},
        {"method": "rkdp54", "rtol": 1e-6, "sampling": md.Sampling(dense=True)},
        {"method": "rkf45", "rtol": 1e-6, "control": md.StepControl("paper", "rms")},
        {"method": "abm4", "step": 0.1, "sampling": md.Sampling(dense=True)},
        {"method": "rodas5p", "rtol": 1e-5},
        {
            "method": "rosenbrock_w",
            "rtol": 1e-3,
            "jacobian": second_order,
            "control": md.StepControl(estimate="scaled"),
        },
        {"method": "rkdp54", "rtol": 1e-6, "events": md.Events(height)},
        {"method": "rkdp54", "rtol": 1e-6, "events": impacts},
        {"method": "rk4", "step": 0.1, "t_switch": [0.55], "sampling": [0.33, 1.0]},
    ]
    found = [md.integrate(swing, (0.0, 3.0), [1.0, 0.0], **run) for run in runs]
    found.append(md.integrate(md.Series(series), (0.0, 1.0), [1.0], method="taylor", rtol=1e-9))
    return [
        {"y": each.y_last.tolist(), "counts": [each.steps, each.failures, each.evaluations]}
        for each in found
    ]


@pytest.fixture(scope="module")
def plain():
    script = SCRIPT.format(folder=os.path.dirname(__file__))
    return json.loads(output_of(script, NUMBA_DISABLE_JIT="1"))


def test_without_the_compiler_the_motions_are_the_same(plain):
    for slow, fast in zip(plain, motions(), strict=True):
        assert slow["counts"] == fast["counts"]
        np.testing.assert_allclose(slow["y"], fast["y"], rtol=1e-9, atol=1e-11)
