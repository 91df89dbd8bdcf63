"""Starts a node as a program: ``python -m manip_dyn.ros.start simulator --ros-args ...``.

With ``--owned`` before its name a node ends when its standard input does, which is a pipe from who
started it: also one that was killed takes its nodes along.

Imports take a second or two. A Ctrl-C meanwhile ends the program as any other: nothing has begun
yet that would have to end, and half an import would leave a traceback.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from importlib import import_module

RECORDING = ("recorder", "replayer")
NODES = (
    "simulator",
    "clik_tracker",
    "bang_bang_planner",
    "mechanism",
    "mechanism_monitor",
    "monitor",
    "viewer",
)


OWNED = "--owned"
PATIENCE = 10.0
"""Wall time that a node has to end when its owner is gone, s."""


def end_with_owner() -> None:
    """Watch standard input in a thread; when it ends, end this process as Ctrl-C does."""

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(PATIENCE)
        os._exit(1)

    threading.Thread(target=watch, name="owner", daemon=True).start()


def start(name: str) -> int:
    """Import a node of `manip_dyn.ros.nodes`, run it and return its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    main = import_module(f"manip_dyn.ros.nodes.{name}").main
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # as `run` expects
    return int(main())


def simulator() -> int:
    """Run the simulator node."""
    return start("simulator")


def clik_tracker() -> int:
    """Run the CLIK tracker node."""
    return start("clik_tracker")


def bang_bang_planner() -> int:
    """Run the bang-bang planner node."""
    return start("bang_bang_planner")


def mechanism() -> int:
    """Run the mechanism node."""
    return start("mechanism")


def mechanism_monitor() -> int:
    """Run the monitor of a mechanism."""
    return start("mechanism_monitor")


def monitor() -> int:
    """Run the monitor of an arm."""
    return start("monitor")


def viewer() -> int:
    """Run the viewer."""
    return start("viewer")


if __name__ == "__main__":
    if sys.argv[1:2] == [OWNED]:
        sys.argv.pop(1)
        end_with_owner()
    name = sys.argv.pop(1).removesuffix("_node") if len(sys.argv) > 1 else ""
    if name not in (*NODES, *RECORDING):
        sys.exit(f"manip_dyn: there is no node '{name}'; expected one of {', '.join(NODES)}")
    sys.exit(start(name))
