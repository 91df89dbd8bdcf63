"""The server of `fresh`: it loads what is not ours, once, and forks for each program to be run."""

from __future__ import annotations

import atexit
import fcntl
import gc
import inspect
import json
import os
import runpy
import select
import socket
import subprocess
import sys
import threading
import types
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


def _load() -> None:
    """Load what processes need, but for this package."""
    import numba
    import pinocchio  # noqa: F401

    numba.njit(lambda x: x + 1.0)(1.0)  # loads what compiling takes
    for name in OTHERS:
        with suppress(ImportError):
            import_module(name)
    inspect.getmodule(_load)  # finds the files of all modules, as rclpy does for what is logged
    gc.freeze()


def _serve() -> None:
    _load()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"\0manip_dyn_fresh_{os.getpid()}")
    listener.listen(100)
    fresh._addresses.append(listener.getsockname().decode())
    print(json.dumps(fresh._addresses[0]), flush=True)
    while sys.stdin not in select.select([sys.stdin, listener], [], [])[0]:
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
            _become(files, **order)
            if order["arguments"][0] == "-c" and "manip_dyn.ros" not in sys.modules:
                _end()
            return


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
    from numba import config

    above = [fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 200) for each in files]
    for each in files:
        os.close(each)
    for each, number in zip(above, numbers, strict=True):
        os.dup2(each, number)
        os.close(each)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    config.reload_config()
    sys.dont_write_bytecode = bool(environment.get("PYTHONDONTWRITEBYTECODE"))
    kind, *rest = arguments
    here = {"-c": "", "-m": cwd}.get(kind, os.path.dirname(kind))
    folders = [each for each in environment.get("PYTHONPATH", "").split(os.pathsep) if each]
    own, *others = sys.path
    sys.path[:] = [here, *folders, *(each for each in others if each not in folders), own]
    subprocess.Popen = fresh.Popen
    if kind == "-c":
        sys.argv[:] = arguments[:1] + arguments[2:]
        main = sys.modules["__main__"] = types.ModuleType("__main__")
        exec(compile(rest[0], "<script>", "exec"), vars(main))
    elif kind == "-m":
        sys.argv[:] = rest
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = arguments
        runpy.run_path(kind, run_name="__main__")


def _end() -> NoReturn:
    """End as any program does, but for freeing all that the server has loaded, one by one.

    That takes most of a short script's time: each page of it would be copied first. Nodes do free
    it, since that they end without a complaint is tested.
    """
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    _serve()
