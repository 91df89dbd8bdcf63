"""Names of version 0.2.0 work with a DeprecationWarning that names their replacement.

Old names of packages are in test/core/test_lazy.py.
"""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import ComputedTorque, JointMotion, References
from manip_dyn.identification import base_parameters
from manip_dyn.inspection import Finding
from manip_dyn.plots import plot_motion
from manip_dyn.prepare import Done
from manip_dyn.simulation import Integrator, driven
from manip_dyn.viewer import Motion, view_motion

ROBOT = md.load_robot("rr")
ZERO = np.zeros(2)
ROWS = np.zeros((2, 2))
PATH = np.ones((2, 3))
REST = JointMotion(ZERO, ZERO, ZERO)
REFERENCES = References(ZERO, ZERO, ZERO)
FINDING = Finding("note", "joint", "elbow", "axis", "none", "a direction")
FIGURE = SimpleNamespace(tool=lambda rows: np.zeros((len(rows), 3)))


def solution():
    return md.integrate(lambda t, y: -y, (0.0, 1.0), [1.0], method="rk4", step=0.1)


ATTRIBUTES = [
    ("Robot.rubs", lambda: ROBOT, "has_dry_friction"),
    ("Finding.told", lambda: FINDING, "message"),
    ("Integrator.found", lambda: Integrator("rk4", 1e-3), "solver"),
    ("References.untold", lambda: REFERENCES, "unset"),
    ("Done.refused", lambda: Done(None, 0.0, "error"), "error"),
    ("Motion.wanted", lambda: Motion("", FIGURE, ZERO, ROWS, desired=PATH), "desired"),
    ("Simulation.go_on_from", lambda: md.Simulation(ROBOT, ZERO, ZERO), "continue_from"),
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


def efforts(_folder, **reference):
    return ComputedTorque(ROBOT, 100.0, 20.0, 0.01).efforts(ZERO, ZERO, **reference).effort


def held_efforts(_folder, **references):
    return driven(md.customize(ROBOT), q=ZERO, law=None, bandwidth=10.0, **references).efforts


def last_update(_folder, **update):
    plan = md.plan_zero_net_work(ROBOT, [0.1, 0.0], ZERO)
    executor = md.PlanExecutor(ROBOT, plan, 1e-3, md.Tuning(off_plan=np.inf))
    executor.tracked(**update, total=ZERO, saturated=False)
    return executor.tracking.updated_at


def combined(_folder, **parameters):
    return base_parameters(ROBOT).of(**parameters)


def picture(folder, **quantities):
    plot_motion(ROBOT, ZERO, file=folder / "motion.png", title="", **quantities)
    return (folder / "motion.png").read_bytes()


def desired_path(_folder, **path):
    return view_motion(ROBOT, ZERO, ROWS, figure=FIGURE, **path).desired


def final_position(_folder, **order):
    return md.simulate(ROBOT, ZERO, ZERO, [1.0, 0.0], 0.1, method="taylor", **order).q[-1]


ARGUMENTS = [
    ("wanted", "reference", REST, efforts),
    ("told", "references", REFERENCES, held_efforts),
    ("heard", "updated_at", 0.5, last_update),
    ("every", "parameters", np.ones(26), combined),
    ("parts", "quantities", {"position": ROWS}, picture),
    ("wanted", "desired", PATH, desired_path),
    ("taylor_order", "order", 6, final_position),
]


@pytest.mark.parametrize(("old", "new", "value", "result"), ARGUMENTS)
def test_arguments(old, new, value, result, tmp_path):
    with pytest.warns(DeprecationWarning, match=rf"{old}\b.* is deprecated .*: use {new}\b"):
        by_old_name = result(tmp_path, **{old: value})
    assert np.array_equal(by_old_name, result(tmp_path, **{new: value}))


def test_all_old_names_are_tested():
    package = Path(__file__).parents[1] / "manip_dyn"
    source = "".join(file.read_text() for file in package.rglob("*.py"))
    attributes = set(re.findall(r'(?:renamed_attribute|warn_deprecated)\("(\w+\.\w+)"', source))
    assert attributes <= {old for old, _, _ in ATTRIBUTES}
    arguments = re.findall(r"@renamed_arguments\((\w+)=\"(\w+)\"\)", source)
    assert sorted(arguments) == sorted((old, new) for old, new, *_ in ARGUMENTS[:-1])
