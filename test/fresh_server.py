"""Servers of `fresh`: processes that import the dependencies once and fork for each program.

The server for nodes is a fork of the first server that also imports the modules of the nodes. It
starts with the first node.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import threading
import types
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

import fresh

DEPENDENCIES = (
    *("lark", "scipy.interpolate", "scipy.optimize", "scipy.spatial.transform", "yaml"),
    *("rclpy.action", "rclpy.executors", "rclpy.type_description_service"),
    *("diagnostic_msgs.msg", "geometry_msgs.msg", "nav_msgs.msg", "rosgraph_msgs.msg"),
    *("sensor_msgs.msg", "std_msgs.msg", "std_srvs.srv", "trajectory_msgs.msg"),
    "visualization_msgs.msg",
)
"""Modules that most processes import in addition to numba and pinocchio, if installed."""
NODES = (
    *("simulator", "bang_bang_planner", "clik_tracker", "monitor"),
    *("mechanism", "mechanism_monitor"),
)
"""Nodes that tests start often."""
OWNED = "--owned"
"""Argument of nodes that a demo has started."""
_test_folder, *_python_path = sys.path


def _load() -> None:
    """Import the dependencies of this package."""
    import numba
    import pinocchio  # noqa: F401

    numba.njit(lambda x: x + 1.0)(1.0)  # imports the compiler
    for name in DEPENDENCIES:
        with suppress(ImportError):
            import_module(name)
    gc.freeze()


def _load_nodes() -> None:
    _enter(os.getcwd(), fresh.ENVIRONMENT)
    for name in NODES:
        import_module(f"manip_dyn.ros.nodes.{name}")
    gc.freeze()


def _listener(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(address)
    listener.listen(100)
    return listener


def _main() -> None:
    _load()
    address = f"\0manip_dyn_fresh_{os.getpid()}"
    fresh._addresses.append(address)
    listeners = [_listener(address), _listener(address + fresh.NODES)]
    print(json.dumps(address), flush=True)
    _serve(*listeners)


def _serve(listener: socket.socket, for_nodes: socket.socket | None = None) -> None:
    """Run programs until standard input ends; a second server runs the nodes."""
    while True:
        awaited = [sys.stdin, listener, *([for_nodes] if for_nodes else [])]
        ready = select.select(awaited, [], [])[0]
        if sys.stdin in ready:
            return
        if for_nodes in ready:
            assert for_nodes is not None
            if not os.fork():
                listener.close()
                _load_nodes()
                _serve(for_nodes)
                return
            for_nodes.close()
            for_nodes = None
            continue
        connection, _ = listener.accept()
        with connection:
            data, files, *_ = socket.recv_fds(connection, fresh.MAX_REQUEST, 100)
            request = json.loads(data)
            answer = _ended(request["pid"]) if "pid" in request else os.fork()
            if answer:
                connection.send(json.dumps(answer).encode())
        for file in files if answer else ():
            os.close(file)
        if not answer:
            listener.close()
            if for_nodes is not None:
                for_nodes.close()
            code = 0
            try:
                _run_program(files, **request)
            except SystemExit as end:
                if not isinstance(end.code, int | None):
                    raise
                code = end.code or 0
            if "manip_dyn.ros" not in sys.modules or OWNED in request["arguments"]:
                _end(code)
            sys.exit(code)


def _ended(pid: int) -> tuple[int, int]:
    """Return PID and status of an ended process, or (0, 0)."""
    try:
        return os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:  # another thread of the client has its status
        return pid, 0


def _run_program(
    files: list[int],
    arguments: list[str],
    cwd: str,
    environment: dict[str, str],
    numbers: list[int],
) -> None:
    """Run a program as the main program; its exceptions end this process."""
    copies = [fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 200) for file in files]
    for file in files:
        os.close(file)
    for copy, number in zip(copies, numbers, strict=True):
        os.dup2(copy, number)
        os.close(copy)
    os.chdir(cwd)
    kind, *rest = arguments
    _enter({"-c": "", "-m": cwd}.get(kind, os.path.dirname(kind)), environment)
    subprocess.Popen = fresh.Popen
    if kind == "-c":
        sys.argv[:] = arguments[:1] + arguments[2:]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<script>", "exec"), vars(main))
    elif kind == "-m":
        sys.argv[:] = rest
        sys.modules.pop(rest[0], None)
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = arguments
        runpy.run_path(kind, run_name="__main__")


def _enter(folder: str, environment: Mapping[str, str]) -> None:
    """Set the environment, and search modules in the folder of the program first."""
    from numba import config

    os.environ.clear()
    os.environ.update(environment)
    config.reload_config()
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    folders = [path for path in environment.get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = [
        folder,
        *folders,
        *(path for path in _python_path if path not in folders),
        _test_folder,
    ]


def _end(code: int) -> NoReturn:
    """Exit without freeing the objects that the server has loaded.

    Freeing them would copy each page of memory, which takes most of the time of a short script.
    Nodes started by tests do free them, because tests check that they exit without errors.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _main()
