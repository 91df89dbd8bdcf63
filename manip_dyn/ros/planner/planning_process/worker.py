"""Program of the planning process: ``python -m ...planning_process.worker FD``.

It solves tasks one after another. The tasks arrive on a connection with the file descriptor FD.
The process exits when the other end of the connection is closed.
"""

from __future__ import annotations

import io
import os
import pickle
import queue
import signal
import sys
import threading
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from manip_dyn.core.errors import ManipDynError
from manip_dyn.planning import Progress, plan_minimum_time
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.parameters.common import robot_from

READY = "ready"
"""Message that the process sends when it is ready for tasks."""
WARM_JOINTS, WARM_DISPLACEMENT = 2, 0.05
"""Largest number of joints for which a warm-up plan is computed; its displacement, rad or m."""


class _Pickler(pickle.Pickler):
    """Pickler that replaces robots with a placeholder, because both processes have the robot."""

    def persistent_id(self, obj: Any) -> str | None:
        """Return the placeholder for a robot, or None for other objects."""
        return "robot" if isinstance(obj, Robot) else None


class _Unpickler(pickle.Unpickler):
    """Unpickler that inserts the robot of this process for its placeholder."""

    def __init__(self, data: bytes, robot: Robot | None):
        super().__init__(io.BytesIO(data))
        self._robot = robot

    def persistent_load(self, pid: Any) -> Any:
        """Return the robot of this process for the placeholder."""
        return self._robot


def packed(value: Any) -> bytes:
    """Return a value as bytes, with placeholders for its robots."""
    data = io.BytesIO()
    _Pickler(data, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return data.getvalue()


def unpacked(data: bytes, robot: Robot | None = None) -> Any:
    """Restore a value from bytes, with `robot` in place of the placeholders."""
    return _Unpickler(data, robot).load()


def serve(connection: Connection) -> None:
    """Solve tasks until the other end of the connection is closed."""
    parameters: BangBangPlannerParameters = unpacked(connection.recv_bytes())
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    robot = robot_from(parameters, "inverse_dynamics", "mass_matrix")
    _warm_up(robot)
    connection.send_bytes(packed(READY))
    while True:
        connection.send_bytes(packed(_solved(robot, tasks.get(), connection)))


def _receive(connection: Connection, tasks: queue.SimpleQueue[bytes]) -> None:
    while True:
        try:
            tasks.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)  # the node has exited: the plan is no longer needed


def _solved(robot: Robot, task: bytes, connection: Connection) -> Any:
    def report(progress: Progress) -> None:
        connection.send_bytes(packed(progress))

    try:
        return unpacked(task, robot).solved(robot, report).portable()
    except ManipDynError as error:
        return error
    except Exception as error:  # the waiting node needs an answer after any failure
        return ManipDynError(f"planning failed: {error!r}")


def _warm_up(robot: Robot) -> None:
    """Load the planning code by computing a small plan.

    This is done only for arms with few joints, for which planning takes less time than loading.
    """
    if robot.n > WARM_JOINTS:
        return
    low, high = np.maximum(robot.q_min, -1.0), np.minimum(robot.q_max, 1.0)
    middle = 0.5 * (low + high)
    with suppress(ManipDynError):
        plan_minimum_time(robot, middle, middle + WARM_DISPLACEMENT, v0=np.full(robot.n, 1e-3))


def main() -> None:
    """Serve the connection with the file descriptor from the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the node handles Ctrl-C
    with suppress(EOFError, OSError):
        serve(Connection(int(sys.argv[1])))


if __name__ == "__main__":
    main()
