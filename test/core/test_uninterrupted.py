"""Compiling ends before the handlers of signals are called, whoever's they are."""

import importlib
import os
import signal
import sys

import numpy as np
import pytest

from manip_dyn.core.compiled import compiled
from manip_dyn.core.interruption import Terminated, raise_terminated, uninterrupted
from manip_dyn.core.lazy import lazy_package


@pytest.fixture(params=["SIGINT", "SIGTERM", "SIGALRM"])
def number(request):
    """A signal that raises, as Ctrl-C, the end of a command and a time limit do."""
    number = getattr(signal, request.param)
    handler = signal.default_int_handler if number == signal.SIGINT else raise_terminated
    before = signal.signal(number, handler)
    yield number
    assert signal.getsignal(number) is handler
    signal.signal(number, before)


def test_a_signal_is_heard_at_the_end(number):
    """Seen: llvmlite swallowed a Ctrl-C, and a command ended with a RuntimeError of numba's.

    Seen of SIGTERM in commands that tidy up: it was raised amid LLVM.
    """
    done = []

    @uninterrupted()
    def work():
        with uninterrupted():
            os.kill(os.getpid(), number)
            done.append("inner")
        done.append("outer")

    with pytest.raises(KeyboardInterrupt) as raised:
        work()
    assert done == ["inner", "outer"]
    assert isinstance(raised.value, Terminated) == (number != signal.SIGINT)
    with uninterrupted():
        done.append("once")
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), number)


def test_a_signal_is_heard_between_two_functions(number):
    """Of those that one call compiles; seen: Ctrl-C waited for all of them, 2 to 4 s."""
    done = []

    def work():
        with uninterrupted():
            os.kill(os.getpid(), number)
            done.append("first")
            with uninterrupted():
                done.append("second")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["first"]


def test_what_is_whole_is_not_interrupted_in_between(number):
    """Seen: numba loaded by half, and every later call failed."""
    done = []

    def work():
        with uninterrupted(whole=True):
            os.kill(os.getpid(), number)
            with uninterrupted():
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner", "outer"]


def test_a_module_is_loaded_whole(number, tmp_path, monkeypatch):
    name = f"interrupted_{int(number)}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    slow = f"import os\nos.kill(os.getpid(), {int(number)})\nspeed = 1\n"
    (tmp_path / name / "slow.py").write_text(slow)
    slow = slow.replace("speed", "motion")
    (tmp_path / name / "motion.py").write_text(slow)
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module(name)
    (tmp_path / name / "__init__.pyi").write_text(
        f"from {name}.slow import speed\nfrom {name}.motion import motion\n"
    )
    get, _, _ = lazy_package(name)
    with pytest.raises(KeyboardInterrupt):
        get("speed")
    assert sys.modules[f"{name}.slow"].speed == get("speed") == 1
    with pytest.raises(KeyboardInterrupt):
        get("motion")
    assert sys.modules[name].motion == 1  # seen: the module of that name, for good


def test_a_handler_that_does_not_raise_is_called_once(number):
    heard = []
    before = signal.signal(number, lambda given, frame: heard.append((given, frame is not None)))
    with uninterrupted():
        os.kill(os.getpid(), number)
        assert heard == []
    assert heard == [(number, True)]
    signal.signal(number, before)


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_what_python_does_not_handle_stays_so(handler):
    before = signal.signal(signal.SIGALRM, handler)
    with uninterrupted():
        assert signal.getsignal(signal.SIGALRM) is handler
    assert signal.getsignal(signal.SIGALRM) is handler
    signal.signal(signal.SIGALRM, before)


def test_a_function_is_compiled_whole(number, monkeypatch):
    """Seen: a segmentation fault of a node that was ended while LLVM linked modules."""

    @compiled
    def twice(x):
        return 2.0 * x

    add = type(twice).add_overload

    def interrupted(self, result):
        os.kill(os.getpid(), number)
        add(self, result)

    monkeypatch.setattr(type(twice), "add_overload", interrupted)
    with pytest.raises(KeyboardInterrupt):
        twice(np.pi)
    assert len(twice.overloads) == 1
    assert twice(np.pi) == 2.0 * np.pi


def test_what_was_interrupted_between_two_functions_is_compiled_again(number, monkeypatch):
    @compiled(keep=False)
    def half(x):
        return 0.5 * x

    @compiled(keep=False)
    def quarter(x):
        return half(half(x))

    typed = type(half).get_call_template

    def interrupted(self, *given):
        monkeypatch.undo()
        os.kill(os.getpid(), number)
        return typed(self, *given)

    monkeypatch.setattr(type(half), "get_call_template", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quarter(np.pi)
    assert not half.overloads
    assert not quarter.overloads
    assert quarter(np.pi) == 0.25 * np.pi
