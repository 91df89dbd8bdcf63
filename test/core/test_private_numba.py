"""Fallback to stock numba: for each private name, and in every layer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from manip_dyn.core import PRIVATE

SIMPLE = """
import numpy as np
from numba import types
from manip_dyn import compiled
from manip_dyn.core import function_parameter, inlined, instantiate, number_parameter


@inlined
def square(x):
    return x * x


@number_parameter()
def count():
    return 1


@function_parameter(returns=types.float64)
def weight(x):
    return x


@compiled
def total(values):
    result = 0.0
    for i in range(count()):
        result += square(weight(values[i]))
    return result


@compiled
def double(x):
    return 2.0 * x


from manip_dyn.core import STOCK
values = np.array([1.0, 3.0])
print(instantiate(total, {count: 2, weight: double})(values), STOCK)
"""
DELETED = """
import importlib
module, _, path = {name!r}.partition(":")
owner = importlib.import_module(module)
*parents, last = [each.removesuffix("()") for each in path.split(".")]
for parent in parents:
    owner = getattr(owner, parent)
import numba
if last == "_cache":  # an attribute of objects
    owner, last = numba, "njit"
    njit = numba.njit
    numba.njit = lambda function: object()
while not isinstance(owner, type) and last not in vars(owner):
    owner = type(owner)
owners = [each for each in getattr(owner, "__mro__", [owner]) if last in vars(each)]
values = [(each, vars(each)[last]) for each in owners]
if last != "njit":
    for each in owners:
        delattr(each, last)
from manip_dyn.core import STOCK
for each, value in values:  # numba itself needs it
    setattr(each, last, value)
if last == "njit":
    numba.njit = njit
"""
LAYERS = {
    "codegen": "import numpy as np\n"
    "robot = md.load_robot('ibm7535')\n"
    "kernels = md.customize(robot)\n"
    "q, v, effort = np.array([0.1, 0.2]), np.array([0.3, -0.4]), np.array([1.0, 2.0])\n"
    "acceleration = kernels.forward_dynamics(q, v, effort)\n"
    "assert np.allclose(kernels.inverse_dynamics(q, v, acceleration), effort)",
    "integrate": "solution = md.integrate(lambda t, y: -y, (0.0, 1.0), [1.0])\n"
    "assert abs(solution.y.ravel()[-1] - 0.36788) < 1e-3",
    "simulate": "robot = md.load_robot('ibm7535')\n"
    "motion = md.simulate(robot, [0.1, 0.2], [0.0, 0.0], effort=[0.0, 0.0], duration=0.1)\n"
    "assert motion.success",
    "ensembles": "robot = md.load_robot('ibm7535')\n"
    "q0, v0 = [[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]], [[0.0, 0.0]] * 3\n"
    "motions = md.simulate_many(robot, q0, v0, [0.0, 0.0], 0.1)\n"
    "assert motions.success.all()",
    "mechanism": "mechanism = md.multibody.load_mechanism('four_bar')\n"
    "motion = md.multibody.simulate_mechanism(mechanism, 0.01)\n"
    "assert motion.success",
    "track": "robot = md.load_robot('pa10')\n"
    "q0 = [2.69, 0.51, -0.24, 1.42, 0.87, -2.41, -2.0]\n"
    "axes = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\n"
    "circle = md.Circle([0.0, 0.4, 0.6], [0, 1, 0], [-1, 0, 0], rotation=axes)\n"
    "md.track(robot, circle, step=0.1, q0=q0)",
    "zero net work": "robot = md.load_robot('ibm7535')\n"
    "assert md.plan_zero_net_work(robot, [0.76, 0.2618], [0.0, 0.0]).success",
    "minimum time": "robot = md.load_robot('ibm7535')\n"
    "assert md.plan_minimum_time(robot, [0.975, 0.0], [0.0, 0.0]).success",
}


def printed(script, **environment):
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": root} | environment
    command = [sys.executable, "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_private_names_are_few():
    assert len(PRIVATE) <= 15


def test_the_current_numba_has_all_private_names(tmp_path):
    assert printed(SIMPLE, MANIP_DYN_CACHE=str(tmp_path)) == "40.0 False"


@pytest.mark.parametrize("name", PRIVATE)
def test_without_a_private_name_numba_compiles_alone(name, tmp_path):
    script = DELETED.format(name=name) + SIMPLE
    cache = str(tmp_path)
    expected = "40.0 True"
    assert printed(script, MANIP_DYN_CACHE=cache) == expected


@pytest.mark.parametrize("layer", LAYERS)
def test_every_layer_runs_on_stock_numba(layer, tmp_path):
    script = f"import manip_dyn as md\n{LAYERS[layer]}"
    printed(script, MANIP_DYN_STOCK_NUMBA="1", MANIP_DYN_CACHE=str(tmp_path))


@pytest.mark.parametrize("script", [SIMPLE, "import manip_dyn as md\n" + LAYERS["integrate"]])
def test_everything_runs_as_plain_python(script, tmp_path):
    printed(script, NUMBA_DISABLE_JIT="1", MANIP_DYN_CACHE=str(tmp_path))
