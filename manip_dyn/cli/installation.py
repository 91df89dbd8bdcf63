"""What is installed: libraries, cache, CPU and ROS, looked up without loading them."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from manip_dyn import __version__
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.share import share_directory


class Library(NamedTuple):
    """A library: what it is imported as, what pip calls it, and what it is for."""

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
        Library("xacro", "xacro", "robots that are xacro files"),
    ),
    "record": (
        Library("mcap", "mcap", "recordings"),
        Library("rosbags", "rosbags", "recordings"),
    ),
    "view": (Library("viser", "viser", "the view in the browser"),),
    "sweep": (
        Library("pyarrow", "pyarrow", "sweeps that are kept"),
        Library("distributed", "distributed", "sweeps on a Dask cluster"),
    ),
    "plot": (Library("matplotlib", "matplotlib", "pictures: --plot, study --out"),),
    "torch": (Library("torch", "torch", "kernels in PyTorch: torch_function"),),
    "jax": (Library("jax", "jax", "kernels in JAX: jax_function"),),
}
ON_TERMINALS = (
    Library("rich", "rich", "colours, tables and bars"),
    Library("argcomplete", "argcomplete", "completion in a shell"),
)
FEATURES = ("avx", "avx2", "fma", "avx512f", "neon", "asimd", "sve")
ROS_VARIABLES = (
    "ROS_DISTRO",
    "RMW_IMPLEMENTATION",
    "ROS_DOMAIN_ID",
    "ROS_AUTOMATIC_DISCOVERY_RANGE",
)


class Installation(NamedTuple):
    """What was found.

    Attributes:
        content: Facts by part and name.
        problems: What keeps everything from working, one sentence each.
    """

    content: dict[str, dict[str, str]]
    problems: list[str]


def examine() -> Installation:
    """Return what is installed."""
    problems: list[str] = []
    content = {
        "package": _package(problems),
        "core": {each.module: _version(each) for each in CORE},
        "optional": _optional(),
        "cache": _cache(problems),
        "machine": _machine(),
        "ros": _ros(),
    }
    problems += [
        f"{each.module} is not installed, for {each.purpose}; expected pip install {each.package}"
        for each in CORE
        if not find_spec(each.module)
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
    return "installed"  # by a distribution that does not tell pip


def _optional() -> dict[str, str]:
    facts = {}
    for extra, libraries in EXTRAS.items():
        for each in libraries:
            told = _version(each)
            lacks = told.startswith("missing")
            facts[each.module] = f"{told}; pip install 'manip_dyn[{extra}]'" if lacks else told
    return facts | {each.module: _version(each) for each in ON_TERMINALS}


def _cache(problems: list[str]) -> dict[str, str]:
    if not find_spec("numba"):
        return {}
    from manip_dyn.core.cache.check import check_cache
    from manip_dyn.core.cache.folder import cache_directory

    folder = cache_directory()
    files = [path for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    size = sum(path.stat().st_size for path in files) / 2**20
    told = "yes"
    try:
        check_cache()
    except ManipDynError as error:
        told = "no"
        problems.append(str(error))
    return {"folder": str(folder), "size": f"{size:.0f} MiB, {len(files)} files", "writable": told}


def _machine() -> dict[str, str]:
    return {
        "system": f"{platform.system()} {platform.release()}",
        "cpu": _cpu("model name") or platform.machine(),
        "cores": str(
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        ),
        "vectors": ", ".join(
            f for f in FEATURES if f in (_cpu("flags") or _cpu("Features")).split()
        )
        or "unknown",
    }


def _cpu(key: str) -> str:
    """Return what Linux tells of the first processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def _ros() -> dict[str, str]:
    if not find_spec("rclpy"):
        return {
            "rclpy": "missing: no nodes; expected a sourced ROS 2, or pip install 'manip_dyn[ros]'"
        }
    middleware = [f"rmw_{name}" for name in ("fastrtps", "cyclonedds", "zenoh") if _has_rmw(name)]
    facts = {"rclpy": _version(EXTRAS["ros"][0]), "middleware": ", ".join(middleware) or "unknown"}
    for package, purpose in (
        ("tf2_msgs", "tf of the links"),
        ("control_msgs", "action follow_joint_trajectory"),
        ("simulation_interfaces", "standard services of simulators"),
    ):
        there, debian = find_spec(package), f"ros-jazzy-{package.replace('_', '-')}"
        facts[package] = "installed" if there else f"missing, for {purpose}; apt install {debian}"
    return facts | {name: os.environ.get(name, "not set") for name in ROS_VARIABLES}


def _has_rmw(name: str) -> bool:
    """Whether a middleware is there: as a wheel, or below a sourced workspace."""
    try:
        version(f"ros-jazzy-rmw-{name}-cpp")
        return True
    except PackageNotFoundError:
        pass
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return any(Path(each, "share", f"rmw_{name}_cpp").is_dir() for each in prefixes if each)
