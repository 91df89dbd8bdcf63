"""Planning in a process of its own, so that the node's control loop keeps its interpreter."""

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
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.planner.planning_process.task import PlanningTask, PreparedPlan
from manip_dyn.ros.planner.planning_process.worker import READY, packed, unpacked

PROGRAM = "manip_dyn.ros.planner.planning_process.worker"
LOOK = 0.05
"""How often is looked whether a plan is still wanted, s."""
TRIES = 3
"""How often in a row it may be killed before its first task: then something always kills it."""
GRACE = 1.0
"""For how long one that is not wanted may go on: a new process takes longer to begin, s."""


class PlanningProcess:
    """A process that is started ahead, and again when it dies."""

    def __init__(
        self, parameters: BangBangPlannerParameters, robot: Robot, warn: Callable[[str], object]
    ):
        """Start it; `warn` is told when it died."""
        self._parameters, self._robot, self._warn = parameters, robot, warn
        self._turn = threading.Lock()
        self._closed = False
        self._killed, self._end_of_it = 0, ""
        self._begin()

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid

    def wait_until_ready(self, timeout: float) -> bool:
        """Return whether it takes tasks without delay, after at most so many s."""
        with self._turn:
            if not self._ready:
                self._connection.poll(timeout)
                self._look_whether_ready()
            return self._ready

    def solved(self, task: PlanningTask, wanted: Callable[[], bool]) -> PreparedPlan:
        """Return what comes of a task; waits for it, in a thread that may wait.

        Args:
            task: What to plan.
            wanted: Tells whether that is still to be planned. If not, planning ends early.

        Raises:
            ManipDynError: If there is no plan, it is not wanted, or the process died.
        """
        with self._turn:
            if not self._closed and self._process.poll() is not None:
                self._replace()
            if not self._closed and self._failed:
                self._begin()
            try:
                self._connection.send_bytes(packed(task))
                answer = self._answer(wanted)
            except (EOFError, OSError):
                raise self._dead() from None
        if isinstance(answer, ManipDynError):
            raise answer
        return answer

    def watch(self) -> None:
        """Start it again if it died while there was nothing to plan."""
        if not self._closed and not self._failed and self._turn.acquire(blocking=False):
            try:
                if self._process.poll() is not None:
                    self._replace()
            finally:
                self._turn.release()

    def close(self) -> None:
        """End it at once; whoever waits for a plan gets none."""
        self._closed = True
        self._end()

    def _answer(self, wanted: Callable[[], bool]) -> PreparedPlan | ManipDynError:
        given_up = None
        while True:
            if self._connection.poll(LOOK):
                answer = unpacked(self._connection.recv_bytes(), self._robot)
                if answer != READY:
                    return answer
                self._ready = True
            elif not wanted():
                given_up = given_up or time.monotonic()
                if time.monotonic() - given_up > GRACE:
                    self._end()
                    if not self._closed:
                        self._begin()
                    return ManipDynError("the plan is not wanted any more")

    def _begin(self) -> None:
        self._ready = self._failed = False
        here, there = Pipe()
        self._connection: Connection = here
        self._process = subprocess.Popen(
            [sys.executable, "-m", PROGRAM, str(there.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=2,  # what it prints is for the log
            pass_fds=[there.fileno()],
        )
        there.close()
        self._connection.send_bytes(packed(self._parameters))

    def _end(self) -> None:
        self._process.kill()
        self._process.wait()
        with suppress(OSError):
            self._connection.close()

    def _dead(self) -> ManipDynError:
        """Start it again; return why there is no plan."""
        if self._closed:
            return ManipDynError("the planner ends")
        self._replace()
        advice = "what it said is in the log" if self._failed else "send the goal again"
        return ManipDynError(f"{self._end_of_it} while a plan was awaited of it; {advice}")

    def _replace(self) -> None:
        """Start it again, unless it cannot come to its first task.

        One that was killed could have come to it, for all that is known.
        """
        self._look_whether_ready()
        code = self._process.wait()
        self._killed = 0 if self._ready else self._killed + 1
        self._failed = self._killed >= (TRIES if code < 0 else 1)
        with suppress(OSError):
            self._connection.close()
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        when = "" if self._ready else " before its first task"
        self._end_of_it = f"the planning process {how}{when}"
        if self._failed:
            again = f", as {self._killed - 1} before it" if self._killed > 1 else ""
            self._warn(f"{self._end_of_it}{again}; the next goal starts another one")
            self._killed = 0
        else:
            self._warn(f"{self._end_of_it}; another one is started")
            self._begin()

    def _look_whether_ready(self) -> None:
        with suppress(EOFError, OSError):
            while not self._ready and self._connection.poll():
                self._ready = unpacked(self._connection.recv_bytes(), self._robot) == READY
