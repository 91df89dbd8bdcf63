"""A sweep as a file: task, robot, what is fixed, and what varies.

::

    task: execution                       # plan, simulate, track or execution
    robot: ibm7535                        # or keywords of md.load_robot, `source` among them
    fixed: {start: [0.76, 0.2618], goal: [0.0, 0.0]}
    cases:
      grid: {method: [zero_net_work, minimum_time]}
      sobol: {count: 1024, seed: 1, mass_scale: [0.8, 1.2]}

A ``list`` has cases one by one. A ``grid`` has lists of values, or ``{from: 0.5, to: 1.5, count:
11}``. ``random``, ``sobol`` and ``latin_hypercube`` have ranges [low, high]. Every case of one
kind meets every one of the others.
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
    """What a file says."""

    task: Task
    cases: Cases


def read_sweep_file(source: str | Path) -> SweepDescription:
    """Return the sweep of a file, or of the name of a shipped one.

    Raises:
        ManipDynError: If there is none, or it cannot be used.
    """
    return read_yaml(sweep_file(source), _description)


def sweep_file(source: str | Path) -> Path:
    """Return the path of a sweep's file, which may be the name of a shipped one."""
    path = Path(source)
    if path.is_file():
        return path
    if str(source) in shipped_sweeps():
        return share_directory() / "config" / "sweeps" / f"{source}.yaml"
    hint = closest(str(source), shipped_sweeps())
    raise ManipDynError(f"there is no sweep '{source}'{hint}; expected a YAML file, or its name")


def shipped_sweeps() -> list[str]:
    """Return the names of the sweeps that come with the package."""
    return sorted(path.stem for path in (share_directory() / "config" / "sweeps").glob("*.yaml"))


def _description(content: Any) -> SweepDescription:
    content = mapping("the file", content, KEYS, REQUIRED)
    robot = content["robot"]
    if not isinstance(robot, (str, dict)):
        raise ManipDynError(f"robot is {robot!r}; expected a name, or keywords of md.load_robot")
    fixed = content.get("fixed", {})
    fixed = mapping("fixed", fixed, fixed if isinstance(fixed, dict) else ())
    task = Task(content["task"], {"source": robot} if isinstance(robot, str) else robot, fixed)
    kinds = mapping("cases", content["cases"], ("list", "grid", *SAMPLINGS))
    if not kinds:
        raise ManipDynError(f"cases has nothing; expected list, grid, {', '.join(SAMPLINGS)}")
    cases = reduce(Cases.__mul__, (_cases(kind, given, task) for kind, given in kinds.items()))
    task.check(cases.names)
    return SweepDescription(task, cases)


def _cases(kind: str, given: Any, task: Task) -> Cases:
    if kind == "list":
        if not isinstance(given, list) or not any(isinstance(each, dict) for each in given):
            raise ManipDynError(f"list is {given!r}; expected cases, each with the same keys")
        return Cases(_usable(each, task) if isinstance(each, dict) else each for each in given)
    given = mapping(kind, given, given if isinstance(given, dict) else ("names",))
    if kind == "grid":
        axes = {str(name): _values(name, axis) for name, axis in given.items()}
        return Cases.grid(
            **{
                name: [_value(name, each, task) for each in axis]
                if isinstance(axis, list)
                else axis
                for name, axis in axes.items()
            }
        )
    known = mapping(kind, given, given, ("count",))
    return getattr(Cases, kind)(**{str(name): value for name, value in known.items()})


def _usable(case: dict[Any, Any], task: Task) -> dict[str, Any]:
    return {str(name): _value(str(name), value, task) for name, value in case.items()}


def _value(name: str, value: Any, task: Task) -> Any:
    """Return a value, or why the task can have none of its kind: other cases are done still."""
    if isinstance(value, str) and name not in task.strings:
        return InvalidValue(f"{name} is {value!r}; expected numbers")
    if not isinstance(value, str) and name in task.strings:
        return InvalidValue(f"{name} is {value!r}; expected a text")
    return value


def _values(name: str, axis: Any) -> Any:
    if not isinstance(axis, dict):
        return axis
    ends = mapping(f"grid: {name}", axis, ("from", "to", "count"), ("from", "to", "count"))
    begin, end = (finite(f"grid: {name}", ends[key]) for key in ("from", "to"))
    count = ends["count"]
    if isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise ManipDynError(f"grid: {name} has the count {count!r}; expected 2 or more")
    return np.linspace(begin, end, count).tolist()
