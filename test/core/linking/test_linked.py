"""Programs that are compiled once, and linked with the functions in their slots."""

import shutil

import pytest
from fresh import output_of

PROGRAM = """
from numba import types
from manip_dyn import compiled
from manip_dyn.core import inlined
from math import sin

from manip_dyn.core import function_parameter, number_parameter, table_parameter


@number_parameter()
def times():
    return 1


@number_parameter(types.float64)
def factor():
    return 1.0


@table_parameter
def share(row, column):
    return 0.0


@function_parameter(returns=types.float64)
def weight(x):
    return 1.0


@function_parameter(returns=types.int64)
def count():
    return 1


@function_parameter()
def note(x, out):
    out[0] = x


@inlined
def weighted(x):
    return weight(x) * x


@inlined
def risen(x):  # too long to become a part of its callers
    for _ in range(times()):
        x = factor() * x + share(1, times())
        if x < 0.0:
            x = LONG
    return x


@inlined
def often_risen(x):
    return risen(x) + risen(2.0 * x) + risen(4.0 * x)


@compiled
def total(values, out):
    result = 0.0
    for i in range(count()):
        result += weighted(values[i])
    note(result, out)
    return result
"""
PROGRAM = PROGRAM.replace("LONG", "sin(" * 60 + "x" + ")" * 60)
FUNCTIONS = """
import ctypes
import numpy as np
from numba import njit
from manip_dyn import compiled
from manip_dyn.core import inlined, instantiate
from program import count, factor, note, often_risen, share, times, total, weight

absolute = ctypes.CDLL(None).fabs
absolute.argtypes, absolute.restype = [ctypes.c_double], ctypes.c_double


@njit
def double(x):
    return 2.0 * x


@inlined
def doubled(x):
    return 2.0 * x


@inlined
def constant(x):
    return 10  # an integer


@compiled
def by_name(x):
    return 3 if x > 1.0 else 4  # an integer


@compiled(merge=True)
def merged(x):
    return 1.0 / (x + 1.0)


@njit
def infinite(x):
    return 1.0 / (x - 1.0)


@njit
def unknown(x):
    return absolute(x)


@njit
def returning(x, out):
    out[0] = 10.0 * x
    return out


RISEN = {weight: often_risen, count: 1, note: note}
TOTALS = {
    "slots": instantiate(total, {count: 2, note: note, weight: weight}),
    "njit": instantiate(total, {count: 2, note: returning, weight: double}),
    "constant": instantiate(total, {count: 2, note: note, weight: constant}),
    "by name": instantiate(total, {count: 2, note: note, weight: by_name}),
    "merged": instantiate(total, {count: 2, note: note, weight: merged}),
    "division": instantiate(total, {count: 2, note: note, weight: infinite}),
    "two rounds": instantiate(instantiate(total, {weight: doubled}), {count: 1, note: returning}),
    "other second": instantiate(instantiate(total, {weight: doubled}), {count: 2, note: note}),
    "unknown": instantiate(total, {count: 2, note: note, weight: unknown}),
    "numbers": instantiate(
        total, RISEN | {times: 1, factor: 2.0, share: np.array([[9, 9], [9, 0.5]])}
    ),
    "other numbers": instantiate(
        total, RISEN | {times: 2, factor: 3.0, share: np.array([[9, 9, 9], [9, 9, 0.25]])}
    ),
}
one, two = TOTALS["njit"], TOTALS["merged"]


@compiled
def both(values, out):
    return one(values, out) + 100.0 * two(values, out)
"""
SCRIPT = """
import functions, numpy as np
from manip_dyn.core import is_cacheable
values, out = np.array([1.0, 3.0]), np.empty(1)
for name, total in functions.TOTALS.items():
    print(name, total(values, out), out[0], is_cacheable(total))
print("both", functions.both(values, out), out[0], is_cacheable(functions.both))
"""
RESULTS = """slots 4.0 4.0 True
njit 20.0 200.0 True
constant 40.0 40.0 True
by name 13.0 13.0 True
merged 1.25 1.25 True
division inf inf True
two rounds 2.0 20.0 True
other second 20.0 20.0 True
unknown 10.0 10.0 False
numbers 15.5 15.5 True
other numbers 66.0 66.0 True
both 145.0 1.25 True"""


@pytest.fixture(scope="module")
def linked_once(tmp_path_factory):
    """A folder whose program has been linked and run."""
    folder = tmp_path_factory.mktemp("linked")
    (folder / "program.py").write_text(PROGRAM)
    (folder / "functions.py").write_text(FUNCTIONS)
    assert printed(folder) == RESULTS
    return folder


@pytest.fixture
def folder(linked_once, tmp_path):
    """A copy of it, with its cache."""
    shutil.copytree(linked_once, tmp_path / "copy")
    return tmp_path / "copy"


def printed(folder, script=SCRIPT):
    cache = {"MANIP_DYN_CACHE": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    return output_of(script, cwd=folder, **cache).strip()


def kept(folder, ending):
    return {path.name for path in (folder / "cache").glob(f"*.{ending}")}


def test_one_template_serves_all_functions_and_another_process_loads_them(folder):
    assert len(kept(folder, "template")) == 2  # of the program, and of the one half filled
    assert len(kept(folder, "machine_code")) == 10 + 2  # not the unknown one
    stamps = {path: path.stat().st_mtime_ns for path in (folder / "cache").iterdir()}
    assert printed(folder) == RESULTS
    assert {path: path.stat().st_mtime_ns for path in (folder / "cache").iterdir()} == stamps


def test_an_edited_function_is_linked_with_the_same_template(folder):
    before = kept(folder, "template")
    path = folder / "functions.py"
    path.write_text(FUNCTIONS.replace("return 2.0 * x", "return 3.0 * x"))
    assert "njit 30.0 300.0" in printed(folder)
    assert len(kept(folder, "template") - before) == 1  # of the half filled one


def test_an_edited_template_is_recompiled(folder):
    path = folder / "program.py"
    path.write_text(PROGRAM.replace("return weight(x) * x", "return weight(x) + x"))
    assert "slots 6.0 6.0" in printed(folder)


@pytest.mark.parametrize("damage", [b"garbage", None])
def test_damaged_templates_are_compiled_anew(folder, damage):
    for path in (folder / "cache").iterdir():
        if path.suffix == ".machine_code" or damage is None:
            path.unlink()
        else:
            path.write_bytes(damage)
    assert printed(folder) == RESULTS
    assert len(kept(folder, "template")) == 2


def test_mismatched_arguments_are_reported(folder):
    script = """
import functions, numpy as np
from manip_dyn.core import instantiate
from numba.core.errors import TypingError
from program import count, note, total
values, out = np.array([1.0, 3.0]), np.empty(1)
for fills in ({count: functions.double}, {count: 1, note: note}):
    try:
        instantiate(total, fills)(values, out)
    except (TypingError, TypeError, ValueError) as error:
        print(type(error).__name__, *str(error).splitlines())
"""
    first, second = printed(folder, script).splitlines()
    assert first.startswith(("TypingError", "TypeError"))  # numba 0.58's is the latter
    assert second.startswith("ValueError")  # numba 0.58 adds a line before the message
    assert "the template parameter program.weight must have an argument" in second
