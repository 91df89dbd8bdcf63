"""The time loop and every type of step in plain Python, with the compiler off."""

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
from test_plain import motions, messages
print(json.dumps([motions(), messages()]))
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
"""Problems that other tests compile as well: function, start, parameters, options."""


def slope(t, y):
    """Raise an AttributeError because of a misspelt name."""
    return -y.speed


def late(t, y, p, out):
    """Write the derivative of y before 0.5 s, raise a ValueError afterwards."""
    if t > 0.5:
        raise ValueError("no force after 0.5 s")
    out[:] = -y


def decay(t, y, p, out):
    """Write the derivative -y."""
    out[:] = -y


def lost(t, y, p, out):
    """Raise a KeyError."""
    out[0] = {}["height"]


def tilted(t, y, p, out, by_time):
    """Raise a LinAlgError."""
    raise np.linalg.LinAlgError("no slope")


RAISING = {
    "rhs fails: AttributeError: 'numpy.ndarray' object has no attribute 'speed'": (slope, {}),
    "rhs fails: ValueError: no force after 0.5 s": (late, {}),
    "events.function fails: KeyError: 'height'": (decay, {"events": lost}),
    "jacobian fails: LinAlgError: no slope": (decay, {"method": "rodas5p", "jacobian": tilted}),
}
"""Messages for functions that raise, without the compiler and mostly also with it."""


def messages():
    """Return the message and the type of the cause for each function of `RAISING`."""
    results = []
    for rhs, options in RAISING.values():
        with pytest.raises(md.ManipDynError) as caught:
            md.integrate(rhs, (0.0, 1.0), [1.0], **options)
        results.append([str(caught.value), type(caught.value.__cause__).__name__])
    return results


def motions():
    """Return final states and counts for each type of step and option."""
    solutions = [
        md.integrate(rhs, (0.0, 1.25), y0, p=p, **options) for rhs, y0, p, options in RUNS
    ]
    return [
        {"y": one.y_last.tolist(), "counts": list(vars(one.statistics).values())}
        for one in solutions
    ]


@pytest.fixture(scope="module")
def plain():
    here = os.path.dirname(__file__)
    script = SCRIPT.format(folders=[here, os.path.dirname(here)])
    return json.loads(output_of(script, NUMBA_DISABLE_JIT="1"))


def test_solutions_without_the_compiler_are_the_same(plain):
    for slow, fast in zip(plain[0], motions(), strict=True):
        assert slow["counts"] == fast["counts"]
        np.testing.assert_allclose(slow["y"], fast["y"], rtol=1e-9, atol=1e-11)


def test_exceptions_of_functions_are_reported_without_the_compiler(plain):
    """Regression: "cannot be compiled by numba", although nothing is compiled."""
    functions = [slope, late, lost, tilted]
    cases = zip(plain[1], RAISING.items(), functions, strict=True)
    for (message, cause), (expected, _), function in cases:
        assert message.startswith(expected)
        assert f"('{function.__name__}', line " in message
        assert cause in expected


def test_exceptions_of_compiled_functions_are_reported_alike():
    """Regression: "cannot be compiled by numba" for an exception of the function."""
    with pytest.raises(md.ManipDynError, match=r"^rhs fails: ValueError: no force .*'late', line"):
        md.integrate(late, (0.0, 1.0), [1.0])


FAILING = """
import manip_dyn as md

def rhs(t, y, p, out):
    if t > 0.5:
        raise ValueError("no force")
    out[:] = -y

try:
    md.integrate(rhs, (0.0, 1.0), [1.0], method="rk4", step=0.1)
except md.ManipDynError as error:
    print(error)
"""


def test_the_line_of_an_exception_is_reported_by_code_cached_in_another_folder(tmp_path):
    """Regression: two folders with the same file share machine code, which names one of them."""
    for folder in "first", "second":
        program = tmp_path / folder / "program.py"
        program.parent.mkdir()
        program.write_text(FAILING)
        script = f"import runpy; runpy.run_path({str(program)!r})"
        output = output_of(script, MANIP_DYN_CACHE=str(tmp_path / "cache"))
        assert f"('rhs', line 6 of {program})" in output
