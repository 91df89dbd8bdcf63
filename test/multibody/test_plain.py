"""Mechanisms in plain Python, without the compiler; imports write no files."""

import json
import os

import numpy as np
import pytest
from fresh import output_of

from manip_dyn.codegen import sine
from manip_dyn.multibody import (
    Joint,
    Mechanism,
    MovingBody,
    RotationalSpring,
    Spring,
    Tyre,
    UserForce,
    linearize,
    simulate_by_adams,
    simulate_mechanism,
)

SCRIPT = """
import json, sys
sys.path.insert(0, {folder!r})
from test_plain import results
print(json.dumps(results()))
"""


def pendulum():
    """Return two links with every kind of force on them."""

    def wind(t, ground, link):
        gust = 2.0 + sine(5.0 * t) - link.velocity[0]
        return [gust, 0.0, 0.1 * gust], [0.0, 0.2 * gust, 0.0]

    bodies = [
        MovingBody("upper", 2.0, (0.1, 0.2, 0.3), (0.5, 0, 1.0)),
        MovingBody("lower", 1.0, (0.2, 0.1, 0.1), (1.5, 0, 1.0)),
    ]
    joints = [
        Joint("revolute", ("ground", "upper"), (0, 0, 1.0), (0, 1, 0)),
        Joint("universal", ("upper", "lower"), (1.0, 0, 1.0), [(0, 1, 0), (0, 0, 1)]),
    ]
    forces = [
        Spring(("ground", "lower"), [(0, 0, 0), (1.5, 0.1, 1.0)], 40.0, 2.0),
        RotationalSpring(("ground", "upper"), (0, 1, 0), 30.0, 1.0, 0.2),
        Tyre("lower", (1.5, 0, 1.0), 0.9, 50.0, 3.0),
        UserForce(("ground", "lower"), wind),
    ]
    return Mechanism(bodies, joints, forces)


def results():
    """Return derivatives, and the ends of motions by each kind of method with their counts."""
    mechanism = pendulum()
    motions = [
        simulate_mechanism(mechanism, 0.05, rtol=1e-5),
        simulate_mechanism(mechanism, 0.05, method="rk4", step=0.01),
        simulate_by_adams(mechanism, 0.02, rtol=1e-4),
    ]
    return {
        "counts": [list(vars(motion.statistics).values()) for motion in motions],
        "q": [motion.q[-1].tolist() for motion in motions],
        "linear": [np.ravel(array).tolist() for array in linearize(mechanism, 0.03)],
    }


def test_plain_python_and_compiled_code_agree():
    plain = json.loads(
        output_of(SCRIPT.format(folder=os.path.dirname(__file__)), NUMBA_DISABLE_JIT="1")
    )
    compiled = results()
    assert plain["counts"] == compiled["counts"]
    for name, rtol in (("q", 1e-9), ("linear", 1e-8)):
        for value, expected in zip(plain[name], compiled[name], strict=True):
            np.testing.assert_allclose(value, expected, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("name", ["manip_dyn", "manip_dyn.multibody"])
def test_an_import_writes_and_compiles_nothing(name, tmp_path):
    output_of(f"import {name}", MANIP_DYN_CACHE=str(tmp_path))
    assert not list(tmp_path.iterdir())
