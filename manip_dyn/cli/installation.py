"""Commands about the installation: `doctor`, `prepare` and `completion`."""

from __future__ import annotations

import argparse
import os
import platform
import shlex
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn import __version__
from manip_dyn.cli.parser import (
    DONE,
    FAILED,
    add_json,
    add_robot,
    complete_with,
    examples,
    print_json,
)
from manip_dyn.cli.terminal import Bar, is_terminal, print_table
from manip_dyn.core.checks import available_cores
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import share_directory
from manip_dyn.core.interruption import sigterm_as_interrupt

ALL = "all"
SHELLS = ("bash", "zsh", "fish")


class Library(NamedTuple):
    """A library that the package uses.

    Attributes:
        module: Name of the module to import.
        package: Name of the package on PyPI.
        purpose: Features that require it.
    """

    module: str
    package: str
    purpose: str


CORE = (
    Library("numpy", "numpy", "arrays"),
    Library("scipy", "scipy", "roots, rotations, interpolation"),
    Library("numba", "numba", "compiled kernels"),
    Library("llvmlite", "llvmlite", "compiled kernels"),
    Library("pinocchio", "pin", "URDF files"),
    Library("yaml", "pyyaml", "YAML files"),
)
EXTRAS = {
    "ros": (
        Library("rclpy", "ros-jazzy-rclpy", "nodes: demo, record, replay"),
        Library("xacro", "xacro", "robots from xacro files"),
    ),
    "record": (
        Library("mcap", "mcap", "recordings"),
        Library("rosbags", "rosbags", "recordings"),
    ),
    "view": (Library("viser", "viser", "views in the browser"),),
    "sweep": (
        Library("pyarrow", "pyarrow", "stored results of sweeps"),
        Library("distributed", "distributed", "sweeps on a Dask cluster"),
    ),
    "plot": (Library("matplotlib", "matplotlib", "pictures: --plot, study --out"),),
    "torch": (Library("torch", "torch", "kernels in PyTorch: torch_function"),),
    "jax": (Library("jax", "jax", "kernels in JAX: jax_function"),),
}
TERMINAL = (
    Library("rich", "rich", "colours, tables and bars"),
    Library("argcomplete", "argcomplete", "completion in a shell"),
)
VECTOR_FEATURES = ("avx", "avx2", "fma", "avx512f", "neon", "asimd", "sve")
ROS_VARIABLES = (
    "ROS_DISTRO",
    "RMW_IMPLEMENTATION",
    "ROS_DOMAIN_ID",
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
)


class Installation(NamedTuple):
    """State of the installation.

    Attributes:
        content: Entries of the report by section and name.
        problems: A sentence for each problem that affects the whole package.
    """

    content: dict[str, dict[str, str]]
    problems: list[str]


def configure_doctor(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn doctor`."""
    command.description = (
        "Report the installed libraries with their versions, missing libraries, the cache of "
        "compiled code, the vector instructions of the CPU, and the ROS 2 installation. Exit "
        "code 0: the required libraries and the data files are installed, and the cache is "
        "writable; 1: otherwise."
    )
    command.epilog = examples("manip_dyn doctor", "manip_dyn doctor --json")
    add_json(command)
    command.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    installation = examine()
    code = FAILED if installation.problems else DONE
    if options.json:
        print_json(installation.content)
        return code
    rows = [
        (f"{section}: {key}", value)
        for section, facts in installation.content.items()
        for key, value in facts.items()
    ]
    text = "".join(f"{key:<34} {value}\n" for key, value in rows)
    print_table(("", ""), rows, lambda: text)
    for problem in installation.problems:
        print(f"problem: {problem}")
    print("see the problems above" if installation.problems else "no problems")
    return code


def examine() -> Installation:
    """Return the state of the installation, without importing optional libraries."""
    problems: list[str] = []
    content = {
        "package": _package(problems),
        "core": {library.module: _version(library) for library in CORE},
        "optional": _optional(),
        "cache": _cache(problems),
        "machine": _machine(),
        "ros": _ros(),
    }
    problems += [
        f"{library.module} is not installed, for {library.purpose}: pip install {library.package}"
        for library in CORE
        if not find_spec(library.module)
    ]
    return Installation(content, problems)


def _package(problems: list[str]) -> dict[str, str]:
    facts = {"manip_dyn": __version__, "at": str(Path(__file__).resolve().parents[1])}
    try:
        facts["data files"] = str(share_directory())
    except ManipDynError as error:
        facts["data files"] = "missing"
        problems.append(str(error))
    return {**facts, "python": platform.python_version()}


def _version(library: Library) -> str:
    if not find_spec(library.module):
        return f"missing, for {library.purpose}"
    for name in (library.package, library.module):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "installed"  # a distribution without package metadata


def _optional() -> dict[str, str]:
    facts = {}
    for extra, libraries in EXTRAS.items():
        for library in libraries:
            state = _version(library)
            if state.startswith("missing"):
                state += f"; pip install 'manip_dyn[{extra}]'"
            facts[library.module] = state
    return facts | {library.module: _version(library) for library in TERMINAL}


def _cache(problems: list[str]) -> dict[str, str]:
    if not find_spec("numba"):
        return {}
    from manip_dyn.core.cache import cache_directory, check_cache

    folder = cache_directory()
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    size = sum(path.stat().st_size for path in files) / 2**20
    writable = "yes"
    try:
        check_cache()
    except ManipDynError as error:
        writable = "no"
        problems.append(str(error))
    facts = {"folder": str(folder), "size": f"{size:.0f} MiB, {len(files)} files"}
    return {**facts, "writable": writable}


def _machine() -> dict[str, str]:
    flags = (_cpu("flags") or _cpu("Features")).split()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "cpu": _cpu("model name") or platform.machine(),
        "cores": str(available_cores()),
        "vectors": ", ".join(name for name in VECTOR_FEATURES if name in flags) or "unknown",
    }


def _cpu(key: str) -> str:
    """Return the value of the first line in /proc/cpuinfo that starts with `key`, or ""."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def _ros() -> dict[str, str]:
    if not find_spec("rclpy"):
        return {"rclpy": "missing, for nodes; source ROS 2, or pip install 'manip_dyn[ros]'"}
    middleware = [f"rmw_{name}" for name in ("fastrtps", "cyclonedds", "zenoh") if _has_rmw(name)]
    facts = {"rclpy": _version(EXTRAS["ros"][0]), "middleware": ", ".join(middleware) or "unknown"}
    for package, purpose in (
        ("tf2_msgs", "tf of the links"),
        ("control_msgs", "action follow_joint_trajectory"),
        ("moveit_msgs", "topic scene of planner and tracker"),
        ("simulation_interfaces", "standard services of simulators"),
    ):
        debian = f"ros-jazzy-{package.replace('_', '-')}"
        missing = f"missing, for {purpose}; apt install {debian}"
        facts[package] = "installed" if find_spec(package) else missing
    return facts | {name: os.environ.get(name, "not set") for name in ROS_VARIABLES}


def _has_rmw(name: str) -> bool:
    """Return whether an RMW implementation is installed as a wheel or in a sourced workspace."""
    try:
        version(f"ros-jazzy-rmw-{name}-cpp")
        return True
    except PackageNotFoundError:
        pass
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return any(Path(prefix, "share", f"rmw_{name}_cpp").is_dir() for prefix in prefixes if prefix)


def configure_prepare(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn prepare`."""
    from manip_dyn.integration import METHODS

    command.description = (
        "The command compiles on all cores, for the shipped robots and mechanisms or for the "
        "robots in the arguments: kernels, simulations, ensembles, tracking, plans of up to three "
        "joints, their execution, and path timings. The integration method is RK4 with fixed "
        "steps; --method adds other methods. The robots of scenarios and examples are also "
        "compiled with the methods used there. Everything else compiles on first use, for example "
        "minimum time for more than three joints, user-defined functions and paths, and "
        "simulations that stop at a joint limit. The environment variable MANIP_DYN_CACHE sets "
        "the cache folder."
    )
    command.epilog = examples(
        "manip_dyn prepare",
        "manip_dyn prepare pa10 my_arm.urdf",
        "manip_dyn prepare pa10 --method rodas5p --method rkdp87",
        "manip_dyn prepare pa10 --method all",
    )
    add_robot(command, nargs="*")
    method = command.add_argument(
        "--method",
        action="append",
        default=[],
        metavar="NAME",
        help="add this integration method for simulation and tracking, with fixed and adaptive "
        f"steps; repeatable; '{ALL}': all methods, two minutes of CPU time for 7 joints",
    )
    complete_with(method, lambda: (ALL, *METHODS))
    command.add_argument(
        "--processes", type=int, default=0, help="number of processes (default: 0, one per core)"
    )
    command.set_defaults(run=_prepare)


def _prepare(options: argparse.Namespace) -> int:
    with sigterm_as_interrupt():  # by default, SIGTERM would not stop the worker processes
        return _prepare_all(options)


def _prepare_all(options: argparse.Namespace) -> int:
    from manip_dyn.core.cache import cache_directory
    from manip_dyn.prepare import count_jobs, prepare

    methods = _method_names(options.method)
    started, count, total = time.monotonic(), 0, count_jobs(options.robot, methods)
    bar = Bar(f"{total} jobs") if is_terminal(sys.stdout) else None
    try:
        jobs = prepare(options.robot, options.processes, methods)
        for number, (job, seconds, reason) in enumerate(jobs, 1):
            note = f"   (not applicable: {reason.rstrip('.')})" if reason else ""
            task = f"{job.kind} {job.method}"
            print(f"{job.about:<22}{task:<28}{seconds:>7.1f} s{note}", flush=True)
            count += not reason
            if bar:
                bar(number / total)
    finally:
        if bar:
            bar.close()
    cores = options.processes or available_cores()
    print(
        f"{count} jobs in {time.monotonic() - started:.0f} s on {cores} core(s); "
        f"listed times are CPU seconds; cached in {cache_directory()}"
    )
    return DONE


def _method_names(names: list[str]) -> list[str]:
    """Return the canonical names of methods without duplicates; unknown names are unchanged."""
    from manip_dyn.integration import METHODS

    if ALL in names:
        names = [*METHODS]
    return [*dict.fromkeys(METHODS[name].name if name in METHODS else name for name in names)]


def configure_completion(command: argparse.ArgumentParser) -> None:
    """Add the description and options of `manip_dyn completion`."""
    command.description = (
        "The script completes commands, options, scenarios, robots and files. It requires "
        "argcomplete."
    )
    command.epilog = examples(
        'eval "$(manip_dyn completion bash)"   # in ~/.bashrc',
        "manip_dyn completion fish > ~/.config/fish/completions/manip_dyn.fish",
    )
    command.add_argument("shell", choices=SHELLS, help="name of the shell")
    command.set_defaults(run=_completion)


def _completion(options: argparse.Namespace) -> int:
    print(_argcomplete().shellcode(["manip_dyn"], shell=options.shell))
    return DONE


def complete(parser_of: Callable[[str], argparse.ArgumentParser]) -> None:
    """Complete the command line and exit, or return if the shell does not request completion.

    Args:
        parser_of: Function that returns the parser with the options of a command.
    """
    line = os.environ.get("COMP_LINE", "")[: int(os.environ.get("COMP_POINT", 0))]
    try:
        words = shlex.split(line)
    except ValueError:  # inside a quotation
        words = line.split()
    parser = parser_of(words[1] if len(words) > 1 else "")
    _argcomplete().autocomplete(parser, always_complete_options=False)


def _argcomplete() -> Any:
    try:
        import argcomplete
    except ImportError as error:
        raise ManipDynError(
            "completion requires argcomplete: pip install argcomplete, or apt install "
            "python3-argcomplete."
        ) from error
    return argcomplete
