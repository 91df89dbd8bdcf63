"""A thread for one long computation at a time, so that a node's callbacks go on meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from rclpy._rclpy_pybind11 import InvalidHandle
from rclpy.node import Node

from manip_dyn.core.errors import ManipDynError
from manip_dyn.ros.runtime.run import unless_shut_down


class Worker:
    """Runs a job beside the node and hands its result over in the node's own thread.

    Attributes:
        busy: Whether a result is waited for.
    """

    def __init__(self, node: Node, on_done: Callable[[Any], None]):
        """Call `on_done` with what a job returned, or with its `ManipDynError`."""
        self._node, self._on_done = node, on_done
        self._thread: threading.Thread | None = None
        self._number, self._result = 0, (0, None)
        self.busy = False
        self._guard = node.create_guard_condition(self._deliver)

    def start(self, job: Callable[[Callable[[], bool]], Any]) -> None:
        """Begin a job; the result of one that still runs is thrown away.

        A job is given a function that tells whether its result is still wanted.
        """
        self._number += 1
        self.busy = True
        self._thread = threading.Thread(
            target=self._run, args=(job, self._number, self._thread), name="worker", daemon=True
        )
        self._thread.start()

    def forget(self) -> None:
        """Throw the result of the job that runs away."""
        self.busy = False

    def close(self) -> None:
        """Wait a little for the job that runs."""
        self.forget()
        if self._thread is not None:
            self._thread.join(timeout=2.0)

    def _run(
        self,
        job: Callable[[Callable[[], bool]], Any],
        number: int,
        before: threading.Thread | None,
    ) -> None:
        def wanted() -> bool:
            return self.busy and number == self._number

        if before is not None:
            before.join()  # planning shares compiled scratch space
        if not wanted():
            return
        try:
            result = job(wanted)
        except ManipDynError as error:
            result = error
        except Exception as error:  # a fault must not leave the node waiting for good
            result = ManipDynError(f"planning failed: {error!r}")
        self._result = (number, result)
        with suppress(InvalidHandle):  # the node was destroyed meanwhile
            unless_shut_down(self._node, self._guard.trigger)

    def _deliver(self) -> None:
        number, result = self._result
        if self.busy and number == self._number:
            self.busy = False
            self._on_done(result)
