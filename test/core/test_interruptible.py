"""What ends by signals leaves their handlers as it found them."""

import signal

import pytest

from manip_dyn.core.interruption import signals_delayed, sigterm_as_interrupt


@pytest.mark.parametrize("within", [sigterm_as_interrupt, signals_delayed])
def test_a_handler_that_c_code_has_set_does_not_end_in_an_error(within, monkeypatch):
    """Python tells None of it, and does not take that back."""
    real, before = signal.signal, signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(signal, "signal", lambda *given: [real(*given), None][1])
    try:
        with within():
            pass
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        real(signal.SIGTERM, before)
