"""Signals during compiling and importing: no crash, no lost Ctrl-C, no handler replaced."""

import importlib
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest
from numba import njit

from manip_dyn import compiled
from manip_dyn.core import (
    Terminated,
    lazy_package,
    raise_terminated,
    run_uninterrupted,
    sigterm_as_interrupt,
)

PAUSE = 0.5
"""Seconds after which a signal has reached the main thread."""


@pytest.fixture(params=["SIGINT", "SIGTERM", "SIGALRM"])
def number(request):
    """A signal whose handler raises, as that of Ctrl-C does."""
    number = getattr(signal, request.param)
    handler = signal.default_int_handler if number == signal.SIGINT else raise_terminated
    before = signal.signal(number, handler)
    yield number
    assert signal.getsignal(number) is handler
    signal.signal(number, before)


def interrupt(number):
    os.kill(os.getpid(), number)
    time.sleep(PAUSE)


def test_an_interrupted_function_completes_before_the_exception(number):
    finished = []

    def work():
        interrupt(number)
        finished.append(True)

    with pytest.raises(KeyboardInterrupt) as raised:
        run_uninterrupted(work)
    assert finished == [True]
    assert isinstance(raised.value, Terminated) == (number != signal.SIGINT)
    assert run_uninterrupted(lambda: 1) == 1


def test_signals_at_any_moment_end_work_without_errors_of_threads(monkeypatch):
    """Regression: an interrupted `threading.Event` left its lock held, or released it twice."""
    delays, errors = np.random.default_rng(0).uniform(2e-5, 6e-4, 3000), []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    before = signal.signal(signal.SIGALRM, raise_terminated)
    interrupted = 0
    try:
        for delay in delays:
            try:
                try:
                    signal.setitimer(signal.ITIMER_REAL, delay)
                    run_uninterrupted(int)
                finally:
                    signal.setitimer(signal.ITIMER_REAL, 0.0)
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted
    assert not errors
    assert run_uninterrupted(lambda: 1) == 1


def test_nested_work_does_not_start_after_a_signal(number):
    finished = []

    def work():
        interrupt(number)
        end = time.monotonic() + 60.0
        while time.monotonic() < end:  # until the main thread has run the handler
            run_uninterrupted(time.sleep, PAUSE)
        finished.append("nested")

    with pytest.raises(KeyboardInterrupt):
        run_uninterrupted(work)
    assert finished == []


def test_results_and_exceptions_are_passed_on():
    assert run_uninterrupted(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        run_uninterrupted(divmod, 7, 0)


def test_a_handler_that_does_not_raise_is_called_once():
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *arguments: calls.append(arguments))
    run_uninterrupted(interrupt, signal.SIGALRM)
    signal.signal(signal.SIGALRM, before)
    assert [number for number, _ in calls] == [signal.SIGALRM]


def test_other_threads_run_the_function_themselves():
    threads = []
    thread = threading.Thread(
        target=lambda: threads.append(run_uninterrupted(threading.current_thread))
    )
    thread.start()
    thread.join()
    assert threads == [thread]


def test_an_interrupted_import_is_complete(number, tmp_path, monkeypatch):
    name = f"interrupted_{int(number)}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text("")
    (tmp_path / name / "__init__.pyi").write_text(f"from {name}.slow import speed as speed\n")
    (tmp_path / name / "slow.py").write_text(
        f"import os, time\nos.kill(os.getpid(), {int(number)})\ntime.sleep({PAUSE})\nspeed = 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.import_module(name)
    get, _, _ = lazy_package(name)
    with pytest.raises(KeyboardInterrupt):
        get("speed")
    assert sys.modules[f"{name}.slow"].speed == sys.modules[name].speed == get("speed") == 1


def test_a_function_that_was_interrupted_is_compiled_again(number, monkeypatch):
    @compiled(keep=False)
    def half(x):
        return 0.5 * x

    @compiled(keep=False)
    def quarter(x):
        return half(half(x))

    declare = type(half).declare

    def interrupted(self, arguments):
        monkeypatch.undo()
        interrupt(number)
        declare(self, arguments)

    monkeypatch.setattr(type(half), "declare", interrupted)
    with pytest.raises(KeyboardInterrupt):
        quarter(np.pi)
    assert not half.signatures
    assert not quarter.signatures
    assert quarter(np.pi) == 0.25 * np.pi


def test_functions_of_users_can_call_compiled_functions():
    """Their compiler holds numba's lock: a thread would wait for it forever."""

    @compiled(keep=False)
    def double(x):
        return 2.0 * x

    @njit
    def quadruple(x):
        return double(double(x))

    assert quadruple(1.0) == 4.0


def test_a_handler_that_c_code_has_set_becomes_the_default(monkeypatch):
    """Python returns None for it and does not accept None."""
    real, before = signal.signal, signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(signal, "signal", lambda *arguments: [real(*arguments), None][1])
    try:
        with sigterm_as_interrupt():
            pass
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        real(signal.SIGTERM, before)
