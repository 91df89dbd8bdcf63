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
from test_plain import motions, refusals
print(json.dumps([motions(), refusals()]))
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


def slope(t, y):
    """Return a derivative that a misspelt name keeps from being one."""
    return -y.speed


def late(t, y, p, out):
    """Write the derivative of y, but only until 0.5 s."""
    if t > 0.5:
        raise ValueError("no force is known then")
    out[:] = -y


def decay(t, y, p, out):
    """Write the derivative -y."""
    out[:] = -y


def lost(t, y, p, out):
    """Look for what is not there."""
    out[0] = {}["height"]


def tilted(t, y, p, out, by_time):
    """Write no Jacobian."""
    raise np.linalg.LinAlgError("no slope")


REFUSED = {
    "rhs fails: AttributeError: 'numpy.ndarray' object has no attribute 'speed'": (slope, {}),
    "rhs fails: ValueError: no force is known then": (late, {}),
    "events.function fails: KeyError: 'height'": (decay, {"events": lost}),
    "jacobian fails: LinAlgError: no slope": (decay, {"method": "rodas5p", "jacobian": tilted}),
}
"""What is said of functions that raise: without the compiler, and mostly with it, too."""


def refusals():
    """Return what is said of each, and whether the cause is what was raised."""
    found = []
    for rhs, options in REFUSED.values():
        with pytest.raises(md.ManipDynError) as caught:
            md.integrate(rhs, (0.0, 1.0), [1.0], **options)
        found.append([str(caught.value), type(caught.value.__cause__).__name__])
    return found


def motions():
    """Return final states and counts of one motion for each kind of step and option."""
    found = [md.integrate(rhs, (0.0, 1.25), y0, p=p, **options) for rhs, y0, p, options in RUNS]
    return [
        {"y": each.y_last.tolist(), "counts": list(vars(each.statistics).values())}
        for each in found
    ]


@pytest.fixture(scope="module")
def plain():
    here = os.path.dirname(__file__)
    script = SCRIPT.format(folders=[here, os.path.dirname(here)])
    return json.loads(output_of(script, NUMBA_DISABLE_JIT="1"))


def test_without_the_compiler_the_motions_are_the_same(plain):
    for slow, fast in zip(plain[0], motions(), strict=True):
        assert slow["counts"] == fast["counts"]
        np.testing.assert_allclose(slow["y"], fast["y"], rtol=1e-9, atol=1e-11)


def test_without_the_compiler_a_function_that_raises_is_told(plain):
    """Seen: "cannot be compiled by numba", where nothing is compiled."""
    places = [slope, late, lost, tilted]
    for (said, cause), (told, _), function in zip(plain[1], REFUSED.items(), places, strict=True):
        assert said.startswith(told)
        assert f"('{function.__name__}', line " in said
        assert cause in told


def test_compiled_functions_that_raise_are_told_alike():
    """Seen: "cannot be compiled by numba" for an error of the function's own."""
    with pytest.raises(md.ManipDynError, match=r"^rhs fails: ValueError: no force .*'late', line"):
        md.integrate(late, (0.0, 1.0), [1.0])
