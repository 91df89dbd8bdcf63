"""Planning in a separate process, so that the node's interpreter only runs the control loop."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection

from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Progress
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.planner.planning_process.task import PlanningTask, PreparedPlan
from manip_dyn.ros.planner.planning_process.worker import READY, packed, unpacked
from manip_dyn.ros.runtime.environment import lower_priority

PROGRAM = "manip_dyn.ros.planner.planning_process.worker"
LOOK = 0.05
"""Time between checks whether a plan is still needed, s."""
TRIES = 3
"""Number of consecutive kills before the first task after which the process stays stopped."""
GRACE = 1.0
"""Time for which cancelled planning may continue, s. A restart of the process takes longer."""


class PlanningProcess:
    """A planning process that is started in advance and restarted if it dies."""

    def __init__(
        self, parameters: BangBangPlannerParameters, robot: Robot, warn: Callable[[str], object]
    ):
        """Start the process; `warn` is called with a message when it dies."""
        self._parameters, self._robot, self._warn = parameters, robot, warn
        self._turn = threading.Lock()
        self._closed = False
        self._killed, self._failure = 0, ""
        self._begin()

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def wait_until_ready(self, timeout: float) -> bool:
        """Wait at most `timeout` seconds; return whether the process is ready for tasks."""
        with self._turn:
            if not self._ready:
                self._connection.poll(timeout)
                self._update_ready()
            return self._ready

    def solved(
        self,
        task: PlanningTask,
        is_needed: Callable[[], bool],
        report: Callable[[Progress], object] = str,
    ) -> PreparedPlan:
        """Return the plan of a task. This call blocks; use a worker thread.

        Args:
            task: The planning task.
            is_needed: Returns whether the plan is still needed. If not, planning is cancelled.
            report: Function that is called with the progress while the plan is needed.

        Raises:
            ManipDynError: If no plan was found, planning was cancelled, or the process died.
        """
        with self._turn:
            if not self._closed and self._process.poll() is not None:
                self._replace()
            if not self._closed and self._failed:
                self._begin()
            try:
                self._connection.send_bytes(packed(task))
                answer = self._answer(is_needed, report)
            except (EOFError, OSError):
                raise self._dead() from None
        if isinstance(answer, ManipDynError):
            raise answer
        return answer

    def watch(self) -> None:
        """Restart the process if it died between tasks."""
        if not self._closed and not self._failed and self._turn.acquire(blocking=False):
            try:
                if self._process.poll() is not None:
                    self._replace()
            finally:
                self._turn.release()

    def close(self) -> None:
        """Kill the process. A pending call of `solved` raises an error."""
        self._closed = True
        self._end()

    def _answer(
        self, is_needed: Callable[[], bool], report: Callable[[Progress], object]
    ) -> PreparedPlan | ManipDynError:
        given_up = None
        while True:
            if self._connection.poll(LOOK):
                answer = unpacked(self._connection.recv_bytes(), self._robot)
                if isinstance(answer, Progress):
                    if is_needed():
                        report(answer)
                elif answer != READY:
                    return answer
                else:
                    self._ready = True
            elif not is_needed():
                given_up = given_up or time.monotonic()
                if time.monotonic() - given_up > GRACE:
                    self._end()
                    if not self._closed:
                        self._begin()
                    return ManipDynError("the plan was cancelled")

    def _begin(self) -> None:
        self._ready = self._failed = False
        here, there = Pipe()
        self._connection: Connection = here
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, str(there.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=2,  # the output of the process is logged
            pass_fds=[there.fileno()],
        )
        lower_priority(0, process=self._process.pid)
        there.close()
        self._connection.send_bytes(packed(self._parameters))

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            self._connection.close()

    def _dead(self) -> ManipDynError:
        """Return the error for the task of a dead process; restart the process unless closed."""
        if self._closed:
            return ManipDynError("the planner is shutting down")
        self._replace()
        advice = "see its output in the log" if self._failed else "send the goal again"
        return ManipDynError(f"{self._failure} during planning; {advice}")

    def _replace(self) -> None:
        """Restart the process, unless it cannot reach its first task.

        After an exit before the first task, only the next goal restarts it. A kill by a signal may
        have an external cause, so it is restarted until `TRIES` consecutive kills.
        """
        self._update_ready()
        code = self._process.wait()
        self._killed = 0 if self._ready else self._killed + 1
        self._failed = self._killed >= (TRIES if code < 0 else 1)
        with suppress(OSError):
            self._connection.close()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        when = "" if self._ready else " before its first task"
        self._failure = f"the planning process {how}{when}"
        if self._failed:
            again = f", like the {self._killed - 1} before it" if self._killed > 1 else ""
            self._warn(f"{self._failure}{again}; the next goal restarts it")
            self._killed = 0
        else:
            self._warn(f"{self._failure}; restarting it")
            self._begin()

    def _update_ready(self) -> None:
        with suppress(EOFError, OSError):
            while not self._ready and self._connection.poll():
                self._ready = unpacked(self._connection.recv_bytes(), self._robot) == READY
