"""The program of the planning process: ``python -m ...planning_process.program FD``.

It plans one task after the other that comes through the connection FD, and ends with whoever holds
the other end, however that came to its end.
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
"""What is sent once tasks are taken without delay."""
WARM_JOINTS, WARM_WAY = 2, 0.05
"""Arms of at most so many joints are planned for once ahead, over so much, rad or m."""


class _Pickler(pickle.Pickler):
    """Sends no robot: both sides have it."""

    def persistent_id(self, obj: Any) -> str | None:
        """Return what stands for the robot."""
        return "robot" if isinstance(obj, Robot) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, data: bytes, robot: Robot | None):
        super().__init__(io.BytesIO(data))
        self._robot = robot

    def persistent_load(self, pid: Any) -> Any:
        """Return this side's robot."""
        return self._robot


def packed(value: Any) -> bytes:
    """Return a value as bytes, without its robots."""
    data = io.BytesIO()
    _Pickler(data, protocol=pickle.HIGHEST_PROTOCOL).dump(value)
    return data.getvalue()


def unpacked(data: bytes, robot: Robot | None = None) -> Any:
    """Return the value of bytes, with a robot in the place of its own."""
    return _Unpickler(data, robot).load()


def serve(connection: Connection) -> None:
    """Plan until the other end is closed."""
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
            os._exit(0)  # nobody waits for what is being planned


def _solved(robot: Robot, task: bytes) -> Any:
    """Return the plan of a task, or why there is none."""
    try:
        return unpacked(task, robot).solved(robot).portable()
    except ManipDynError as error:
        return error
    except Exception as error:  # a fault must not leave the node waiting for good
        return ManipDynError(f"planning failed: {error!r}")


def _warm_up(robot: Robot) -> None:
    """Have loaded what planning needs, for arms that are planned for in a moment."""
    if robot.n > WARM_JOINTS:
        return
    low, high = np.maximum(robot.q_min, -1.0), np.minimum(robot.q_max, 1.0)
    middle = 0.5 * (low + high)
    with suppress(ManipDynError):
        plan_minimum_time(robot, middle, middle + WARM_WAY, v0=np.full(robot.n, 1e-3))


def main() -> None:
    """Serve the connection that the command line names."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the node's
    with suppress(EOFError, OSError):
        serve(Connection(int(sys.argv[1])))


if __name__ == "__main__":
    main()
