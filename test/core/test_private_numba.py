"""Fallback to stock numba: for each private name, and in every layer."""

import json
import os
import subprocess
import sys
import traceback
from pathlib import Path

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.core import PRIVATE, STOCK

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
INTEGRATE = """
import manip_dyn as md
md.integrate(lambda t, y: -y, (0.0, 1.0), [1.0])
"""
ROBOT = md.load_robot("ibm7535")
Q, V, EFFORT = np.array([0.1, 0.2]), np.array([0.3, -0.4]), np.array([1.0, 2.0])


def codegen():
    kernels = md.customize(ROBOT)
    return kernels.forward_dynamics(Q, V, EFFORT), kernels.inverse_dynamics(Q, V, EFFORT)


def integrate():
    return md.integrate(lambda t, y: -y, (0.0, 1.0), [1.0], method="rk4", step=0.1).y


def simulate():
    return md.simulate(ROBOT, Q, V, effort=EFFORT, duration=0.1, method="rk4", step=0.01).q


def simulate_many():
    return md.simulate_many(ROBOT, [Q, V], V, EFFORT, duration=0.1, step=0.01).q


def simulate_mechanism():
    mechanism = md.multibody.load_mechanism("slider_crank")
    return md.multibody.simulate_mechanism(mechanism, 0.01, method="rk4", step=0.001).q


def track():
    q0 = [2.69, 0.51, -0.24, 1.42, 0.87, -2.41, -2.0]
    circle = md.Circle([0.0, 0.4, 0.6], [0, 1, 0], [-1, 0, 0], rotation=np.eye(3))
    return md.track(md.load_robot("pa10"), circle, step=0.1, q0=q0, duration=0.5).q


def plan_zero_net_work():
    return md.plan_zero_net_work(ROBOT, [0.76, 0.2618], [0.0, 0.0]).t_final


def plan_minimum_time():
    return md.plan_minimum_time(ROBOT, [0.975, 0.0], [0.0, 0.0], budget=None).t_final


LAYERS = (
    codegen,
    integrate,
    simulate,
    simulate_many,
    simulate_mechanism,
    track,
    plan_zero_net_work,
    plan_minimum_time,
)


def print_values():
    """Print the values of all layers, or the traceback of a layer that fails, as JSON."""
    values = {}
    for layer in LAYERS:
        try:
            values[layer.__name__] = np.array(layer()).tolist()
        except Exception:
            values[layer.__name__] = traceback.format_exc()
    print(json.dumps([STOCK, values]))


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


@pytest.fixture(scope="module")
def stock_values(tmp_path_factory):
    """Values on stock numba: one process, without LLVM's optimization, for a short compilation."""
    script = f"import runpy; runpy.run_path({__file__!r})['print_values']()"
    cache = str(tmp_path_factory.mktemp("cache"))
    options = {"MANIP_DYN_STOCK_NUMBA": "1", "NUMBA_OPT": "0", "MANIP_DYN_CACHE": cache}
    stock, values = json.loads(printed(script, **options))
    assert stock
    return values


@pytest.mark.parametrize("layer", LAYERS)
def test_every_layer_has_the_same_values_on_stock_numba(layer, stock_values):
    values = stock_values[layer.__name__]
    assert not isinstance(values, str), values
    assert np.allclose(values, layer(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("script", [SIMPLE, INTEGRATE])
def test_everything_runs_as_plain_python(script, tmp_path):
    printed(script, NUMBA_DISABLE_JIT="1", MANIP_DYN_CACHE=str(tmp_path))
