"""The servers of `fresh`: one loads what is not ours, once, and forks for each program to be run.

The one for nodes is a fork of it, too, when the first is asked for; it loads the modules of nodes.
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

OTHERS = (
    *("lark", "scipy.interpolate", "scipy.optimize", "scipy.spatial.transform", "yaml"),
    *("rclpy.action", "rclpy.executors", "rclpy.type_description_service"),
    *("diagnostic_msgs.msg", "geometry_msgs.msg", "nav_msgs.msg", "rosgraph_msgs.msg"),
    *("sensor_msgs.msg", "std_msgs.msg", "std_srvs.srv", "trajectory_msgs.msg"),
    "visualization_msgs.msg",
)
"""What most processes load besides numba, pinocchio and this package, where it is installed."""
NODES = (
    *("simulator", "bang_bang_planner", "clik_tracker", "monitor"),
    *("mechanism", "mechanism_monitor"),
)
"""Nodes that are started often."""
OWNED = "--owned"
"""What nodes are told that a demo has started."""
_own, *_others = sys.path


def _load() -> None:
    """Load what processes need, but for this package."""
    import numba
    import pinocchio  # noqa: F401

    numba.njit(lambda x: x + 1.0)(1.0)  # loads what compiling takes
    for name in OTHERS:
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
    """Run programs, until standard input ends; for nodes, by a server of their own."""
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
            data, files, *_ = socket.recv_fds(connection, fresh.MOST, 100)
            order = json.loads(data)
            answer = _ended(order["pid"]) if "pid" in order else os.fork()
            if answer:
                connection.send(json.dumps(answer).encode())
        for each in files if answer else ():
            os.close(each)
        if not answer:
            listener.close()
            if for_nodes is not None:
                for_nodes.close()
            code = 0
            try:
                _become(files, **order)
            except SystemExit as end:
                if not isinstance(end.code, int | None):
                    raise
                code = end.code or 0
            if "manip_dyn.ros" not in sys.modules or OWNED in order["arguments"]:
                _end(code)
            sys.exit(code)


def _ended(pid: int) -> tuple[int, int]:
    """Return a process's number and status if it ended, or (0, 0)."""
    try:
        return os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:  # another thread of who asks was told
        return pid, 0


def _become(
    files: list[int],
    arguments: list[str],
    cwd: str,
    environment: dict[str, str],
    numbers: list[int],
) -> None:
    """Run a program as the main one; what it raises ends this process as it would any."""
    above = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 200) for each in files]
    for each in files:
        os.close(each)
    for each, number in zip(above, numbers, strict=True):
        os.dup2(each, number)
        os.close(each)
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


def _enter(here: str, environment: Mapping[str, str]) -> None:
    """Take an environment on, and look for modules first where a program lies."""
    from numba import config

    os.environ.clear()
    os.environ.update(environment)
    config.reload_config()
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    folders = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    sys.path[:] = [here, *folders, *(each for each in _others if each not in folders), _own]


def _end(code: int) -> NoReturn:
    """End as any program does, but for freeing all that the server has loaded, one by one.

    That takes most of a short script's time: each page of it would be copied first. Nodes that a
    test itself has started do free it, since that they end without a complaint is tested.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _main()
