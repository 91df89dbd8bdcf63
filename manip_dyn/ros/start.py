"""Start a node as a process: ``python -m manip_dyn.ros.start simulator --ros-args ...``.

With ``--owned`` before the name, standard input must be a pipe from the parent process. The node
exits when the pipe is closed, even if the parent was killed.

Imports take a second or two. SIGINT and SIGTERM during the imports end the process at once with
exit code 0, because there is nothing to clean up yet.
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
SHUTDOWN_TIMEOUT = 10.0
"""Wall time for a regular shutdown after standard input is closed, s. Then the process exits."""


def end_with_owner() -> None:
    """Start a thread that interrupts this process, like Ctrl-C, when standard input is closed."""

    def watch() -> None:
        while os.read(0, 1024):
            pass
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(SHUTDOWN_TIMEOUT)
        os._exit(1)

    threading.Thread(target=watch, name="owner", daemon=True).start()


def start(name: str) -> int:
    """Import a node of `manip_dyn.ros.nodes`, run it and return its exit code."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: os._exit(0))
    module = "recording" if name in RECORDING else name
    main = import_module(f"manip_dyn.ros.nodes.{module}").main
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)  # as `run` expects
    return int(main(name) if name in RECORDING else main())


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
    """Run the mechanism monitor node."""
    return start("mechanism_monitor")


def monitor() -> int:
    """Run the arm monitor node."""
    return start("monitor")


def viewer() -> int:
    """Run the viewer node."""
    return start("viewer")


if __name__ == "__main__":
    if sys.argv[1:2] == [OWNED]:
        sys.argv.pop(1)
        end_with_owner()
    name = sys.argv.pop(1).removesuffix("_node") if len(sys.argv) > 1 else ""
    if name not in (*NODES, *RECORDING):
        sys.exit(f"manip_dyn: node must be one of {', '.join(NODES)}, got '{name}'.")
    sys.exit(start(name))
