"""Mechanisms as plain Python, with the compiler off; what an import does."""

import json
import os

import numpy as np
import pytest
from fresh import output_of

from manip_dyn.codegen.rigid_body.graph import sine
from manip_dyn.multibody import (
    Joint,
    Mechanism,
    MovingBody,
    RotationalSpring,
    Spring,
    Tyre,
    UserForce,
    simulate_mechanism,
)
from manip_dyn.multibody.first_order import simulate_by_adams
from manip_dyn.multibody.model.linearization import linearize

SCRIPT = """
import json, sys
sys.path.insert(0, {folder!r})
from test_plain import found
print(json.dumps(found()))
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


def found():
    """Return derivatives, and where motions by each kind of method end, with their counts."""
    mechanism = pendulum()
    motions = [
        simulate_mechanism(mechanism, 0.05, rtol=1e-5),
        simulate_mechanism(mechanism, 0.05, method="rk4", step=0.01),
        simulate_by_adams(mechanism, 0.02, rtol=1e-4),
    ]
    return {
        "counts": [list(vars(each.statistics).values()) for each in motions],
        "q": [each.q[-1].tolist() for each in motions],
        "linear": [np.ravel(each).tolist() for each in linearize(mechanism, 0.03)],
    }


def test_without_the_compiler_mechanisms_move_the_same():
    slow = json.loads(
        output_of(SCRIPT.format(folder=os.path.dirname(__file__)), NUMBA_DISABLE_JIT="1")
    )
    fast = found()
    assert slow["counts"] == fast["counts"]
    for name, rtol in (("q", 1e-9), ("linear", 1e-8)):
        for mine, other in zip(slow[name], fast[name], strict=True):
            np.testing.assert_allclose(mine, other, rtol=rtol, atol=1e-9)


@pytest.mark.parametrize("name", ["manip_dyn", "manip_dyn.multibody"])
def test_an_import_writes_and_compiles_nothing(name, tmp_path):
    output_of(f"import {name}", MANIP_DYN_CACHE=str(tmp_path))
    assert not list(tmp_path.iterdir())
