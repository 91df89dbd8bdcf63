"""Compiling ends before a Ctrl-C does its work."""

import os
import signal

import numpy as np
import pytest

from manip_dyn.core.compiled import compiled
from manip_dyn.core.uninterrupted import interrupt, uninterrupted


@pytest.fixture
def handled():
    before = signal.signal(signal.SIGTERM, interrupt)
    yield
    signal.signal(signal.SIGTERM, before)


def test_a_signal_is_heard_at_the_end(handled):
    done = []

    @uninterrupted()
    def work():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append("inner")
        done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner", "outer"]
    with uninterrupted():
        done.append("once")
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_ctrl_c_of_pythons_own_is_heard_at_the_end():
    """Seen: llvmlite swallowed it, and a command ended with a RuntimeError of numba's."""
    before, done = signal.signal(signal.SIGINT, signal.default_int_handler), []

    def work():
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGINT)
            done.append("whole")

    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert done == ["whole"]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_function_is_compiled_whole(handled, monkeypatch):
    """Seen: a segmentation fault of a node that was ended while LLVM linked modules."""

    @compiled
    def twice(x):
        return 2.0 * x

    add = type(twice).add_overload

    def interrupted(self, result):
        os.kill(os.getpid(), signal.SIGTERM)
        add(self, result)

    monkeypatch.setattr(type(twice), "add_overload", interrupted)
    with pytest.raises(KeyboardInterrupt):
        twice(np.pi)
    assert len(twice.overloads) == 1
    assert twice(np.pi) == 2.0 * np.pi
