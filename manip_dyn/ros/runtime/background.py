"""A thread beside a node's own, from its start until it is stopped."""

from __future__ import annotations

import threading


class Background:
    """A daemon thread; what it does is `_run`, which looks whether `_stop` is set."""

    def __init__(self, name: str):
        """Prepare the thread; its name is for debuggers."""
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stop.set()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=2.0)

    def _run(self) -> None:
        raise NotImplementedError
