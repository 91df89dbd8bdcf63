"""Worker of the planning process: ``python -m ...planning_process.worker FD``.

It solves the tasks that it receives through the connection FD one after the other. It exits when
the other end of the connection is closed, for any reason.
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
from manip_dyn.planning import plan_minimum_time
from manip_dyn.robot import Robot
from manip_dyn.ros.parameters.bang_bang_planner import BangBangPlannerParameters
from manip_dyn.ros.parameters.common import robot_from

READY = "ready"
"""Message that reports that tasks are accepted without delay."""
WARM_JOINTS, WARM_DISPLACEMENT = 2, 0.05
"""Largest number of joints of arms with a warm-up plan, and its displacement, rad or m."""


class _Pickler(pickle.Pickler):
    """Pickler that does not send robots, because both sides have them."""

    def persistent_id(self, obj: Any) -> str | None:
        """Return the placeholder of the robot."""
        return "robot" if isinstance(obj, Robot) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, robot: Robot | None):
        super().__init__(io.BytesIO(data))
        self._robot = robot

    def persistent_load(self, pid: Any) -> Any:
        """Return the robot of this process."""
        return self._robot


def packed(value: Any) -> bytes:
    """Return a value as bytes, without its robots."""
    data = io.BytesIO()
    _Pickler(data, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return data.getvalue()


def unpacked(data: bytes, robot: Robot | None = None) -> Any:
    """Return the value of bytes, with the robot of this process."""
    return _Unpickler(data, robot).load()


def serve(connection: Connection) -> None:
    """Solve tasks until the other end is closed."""
    parameters: BangBangPlannerParameters = unpacked(connection.recv_bytes())
    tasks: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    robot = robot_from(parameters, "inverse_dynamics", "mass_matrix")
    _warm_up(robot)
    connection.send_bytes(packed(READY))
    while True:
        connection.send_bytes(packed(_solved(robot, tasks.get())))


def _receive(connection: Connection, tasks: queue.SimpleQueue[bytes]) -> None:
    while True:
        try:
            tasks.put(connection.recv_bytes())
        except (EOFError, OSError):
            os._exit(0)  # the node has ended, so the plan is no longer needed


def _solved(robot: Robot, task: bytes) -> Any:
    """Return the plan of a task, or the error."""
    try:
        return unpacked(task, robot).solved(robot).portable()
    except ManipDynError as error:
        return error
    except Exception as error:  # any failure must answer the waiting node
        return ManipDynError(f"planning failed: {error!r}")


def _warm_up(robot: Robot) -> None:
    """Load the code for planning, for arms whose plans take less time than that."""
    if robot.n > WARM_JOINTS:
        return
    low, high = np.maximum(robot.q_min, -1.0), np.minimum(robot.q_max, 1.0)
    middle = 0.5 * (low + high)
    with suppress(ManipDynError):
        plan_minimum_time(robot, middle, middle + WARM_DISPLACEMENT, v0=np.full(robot.n, 1e-3))


def main() -> None:
    """Serve the connection with the file descriptor from the command line."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the node's
    with suppress(EOFError, OSError):
        serve(Connection(int(sys.argv[1])))


if __name__ == "__main__":
    main()
