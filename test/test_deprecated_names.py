"""Names of version 0.2.0 work with a DeprecationWarning that names their replacement."""

from pathlib import Path

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import ComputedTorque, JointMotion, References
from manip_dyn.inspection import Finding
from manip_dyn.prepare import Done
from manip_dyn.simulation import Integrator, driven

ROBOT = md.load_robot("rr")
ZERO = np.zeros(2)
REFERENCES = References(ZERO, ZERO, ZERO)
FINDING = Finding("note", "joint", "elbow", "axis", "none", "a direction")


def solution():
    return md.integrate(lambda t, y: -y, (0.0, 1.0), [1.0], method="rk4", step=0.1)


ATTRIBUTES = [
    ("Robot.rubs", lambda: ROBOT, "has_dry_friction"),
    ("Finding.told", lambda: FINDING, "message"),
    ("Integrator.found", lambda: Integrator("rk4", 1e-3), "solver"),
    ("References.untold", lambda: REFERENCES, "unset"),
    ("Done.refused", lambda: Done(None, 0.0, "error"), "error"),
    ("Solution.steps", solution, "statistics.steps"),
    ("Solution.failures", solution, "statistics.failures"),
    ("Solution.evaluations", solution, "statistics.evaluations"),
]


@pytest.mark.parametrize(("old", "instance", "new"), ATTRIBUTES)
def test_attributes(old, instance, new):
    value = instance()
    with pytest.warns(DeprecationWarning, match=f"{old} is deprecated .*: use {new} ") as warned:
        result = getattr(value, old.partition(".")[2])
    assert Path(warned[0].filename) == Path(__file__)
    for name in new.split("."):
        value = getattr(value, name)
    assert np.array_equal(result, value)


def test_methods():
    simulation, heavier = (md.Simulation(ROBOT, ZERO, ZERO) for _ in range(2))
    with pytest.warns(DeprecationWarning, match=r"use continue_from instead"):
        heavier.go_on_from(simulation)


def test_arguments():
    control, rest = ComputedTorque(ROBOT, 100.0, 20.0, 0.01), JointMotion(ZERO, ZERO, ZERO)
    with pytest.warns(DeprecationWarning, match=r"efforts\(wanted=\.\.\.\) .* use reference="):
        old = control.efforts(ZERO, ZERO, wanted=rest)
    new = ComputedTorque(ROBOT, 100.0, 20.0, 0.01).efforts(ZERO, ZERO, reference=rest)
    assert np.array_equal(old.effort, new.effort)
    with pytest.warns(DeprecationWarning, match=r"driven\(told=\.\.\.\) .* use references="):
        driven(md.customize(ROBOT), q=ZERO, law=None, bandwidth=10.0, told=REFERENCES)


@pytest.mark.parametrize(
    ("old", "new"),
    [("check", md.check_urdf), ("excitation", md.plan_excitation)],
)
def test_names_of_the_package(old, new):
    with pytest.warns(DeprecationWarning, match=f"manip_dyn.{old} is deprecated"):
        assert getattr(md, old) is new
