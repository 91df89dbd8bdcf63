"""Sweep files: task, robot, fixed settings, and cases.

::

    task: execution                       # plan, simulate, track or execution
    robot: ibm7535                        # or keywords of md.load_robot, including `source`
    fixed: {start: [0.76, 0.2618], goal: [0.0, 0.0]}
    cases:
      grid: {method: [zero_net_work, minimum_time]}
      sobol: {count: 1024, seed: 1, mass_scale: [0.8, 1.2]}

A ``list`` contains single cases. A ``grid`` contains lists of values, or ranges such as ``{from:
0.5, to: 1.5, count: 11}``. ``random``, ``sobol`` and ``latin_hypercube`` contain ranges [low,
high]. The sweep is the product of the cases of all kinds.
"""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.core.checks import finite
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import mapping, read_yaml, share_directory
from manip_dyn.ensembles.sweeps.cases import SAMPLINGS, Cases, InvalidValue
from manip_dyn.ensembles.sweeps.tasks import Task

KEYS, REQUIRED = ("task", "robot", "fixed", "cases"), ("task", "robot", "cases")


class SweepDescription(NamedTuple):
    """Task and cases of a sweep file."""

    task: Task
    cases: Cases


def read_sweep_file(source: str | Path) -> SweepDescription:
    """Read a sweep file, or a bundled sweep by name.

    Raises:
        ManipDynError: If the file is missing or invalid.
    """
    return read_yaml(sweep_file(source), _description)


def sweep_file(source: str | Path) -> Path:
    """Return the path of a sweep file, or of a bundled sweep by name."""
    path = Path(source)
    if path.is_file():
        return path
    if str(source) in shipped_sweeps():
        return share_directory() / "config" / "sweeps" / f"{source}.yaml"
    hint = closest(str(source), shipped_sweeps())
    raise ManipDynError(
        f"sweep must be a YAML file or the name of a bundled sweep, got '{source}'{hint}"
    )


def shipped_sweeps() -> list[str]:
    """Return the names of the bundled sweeps."""
    return sorted(path.stem for path in (share_directory() / "config" / "sweeps").glob("*.yaml"))


def _description(content: Any) -> SweepDescription:
    content = mapping("the file", content, KEYS, REQUIRED)
    robot = content["robot"]
    if not isinstance(robot, (str, dict)):
        raise ManipDynError(f"robot must be a name, or keywords of md.load_robot, got {robot!r}.")
    fixed = content.get("fixed", {})
    fixed = mapping("fixed", fixed, fixed if isinstance(fixed, dict) else ())
    task = Task(content["task"], {"source": robot} if isinstance(robot, str) else robot, fixed)
    kinds = mapping("cases", content["cases"], ("list", "grid", *SAMPLINGS))
    if not kinds:
        raise ManipDynError(f"cases must have list, grid, {', '.join(SAMPLINGS)}, got nothing.")
    cases = reduce(Cases.__mul__, (_cases(kind, content, task) for kind, content in kinds.items()))
    task.check(cases.names)
    return SweepDescription(task, cases)


def _cases(kind: str, content: Any, task: Task) -> Cases:
    if kind == "list":
        if not isinstance(content, list) or not any(isinstance(case, dict) for case in content):
            raise ManipDynError(f"list must contain cases with the same keys, got {content!r}.")
        return Cases(_usable(case, task) if isinstance(case, dict) else case for case in content)
    content = mapping(kind, content, content if isinstance(content, dict) else ("names",))
    if kind == "grid":
        axes = {str(name): _values(name, axis) for name, axis in content.items()}
        return Cases.grid(
            **{
                name: [_value(name, value, task) for value in axis]
                if isinstance(axis, list)
                else axis
                for name, axis in axes.items()
            }
        )
    arguments = mapping(kind, content, content, ("count",))
    return getattr(Cases, kind)(**{str(name): value for name, value in arguments.items()})


def _usable(case: dict[Any, Any], task: Task) -> dict[str, Any]:
    return {str(name): _value(str(name), value, task) for name, value in case.items()}


def _value(name: str, value: Any, task: Task) -> Any:
    """Return a value, or an `InvalidValue` if the task does not support its kind."""
    if isinstance(value, str) and name not in task.strings:
        return InvalidValue(f"{name} must be numbers, got {value!r}.")
    if not isinstance(value, str) and name in task.strings:
        return InvalidValue(f"{name} must be a string, got {value!r}.")
    return value


def _values(name: str, axis: Any) -> Any:
    if not isinstance(axis, dict):
        return axis
    ends = mapping(f"grid: {name}", axis, ("from", "to", "count"), ("from", "to", "count"))
    begin, end = (finite(f"grid: {name}", ends[key]) for key in ("from", "to"))
    count = ends["count"]
    if isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise ManipDynError(f"grid: count of {name} must be at least 2, got {count!r}.")
    return np.linspace(begin, end, count).tolist()
