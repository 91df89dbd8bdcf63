"""What `study fan2003` computes and on which arms: ``config/fan2003.yaml``, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.errors import ManipDynError, closest
from manip_dyn.studies.yaml_file import mapping, read_yaml
from manip_dyn.validate import Vector, finite_vector, positive


@dataclass(frozen=True)
class Arm:
    """A shipped robot with changed numbers.

    Attributes:
        robot: Name of the shipped robot.
        links: Link -> its ``mass`` (kg), ``com`` (3,) (m), principal ``inertia`` (3,) (kg m^2).
        joints: Joint -> its ``origin`` (3,) (m), ``effort``, ``lower``, ``upper``.
        load: Mass at the tip, kg; None: as shipped.
    """

    robot: str
    links: Mapping[str, Mapping[str, Any]]
    joints: Mapping[str, Mapping[str, Any]]
    load: float | None = None


class Case(NamedTuple):
    """A motion from rest at `start` (n,), rad or m, to rest at zero."""

    arm: str
    start: tuple[float, ...]


class Gains(NamedTuple):
    """PD gains (n,)."""

    kp: tuple[float, ...]
    kd: tuple[float, ...]


class Grid(NamedTuple):
    """The thesis's grid search of a chapter: first step (rad or m) and `Werror` (J)."""

    step: float
    enough: float


@dataclass(frozen=True)
class Settings:
    """The study's settings; the file says where each is from.

    Attributes:
        arms: Name -> arm.
        cases: Table or section -> motion.
        pd: Table -> gains.
        near: How near its goal a joint has arrived in the thesis, rad or m.
        grids: Chapter -> grid.
        window: How far from the exact switching positions the grid goes, rad or m.
        trials: Most motions of a grid search.
    """

    arms: Mapping[str, Arm]
    cases: Mapping[str, Case]
    pd: Mapping[str, Gains]
    near: float
    grids: Mapping[str, Grid]
    window: float
    trials: int


def read_settings(path: str | Path | None = None) -> Settings:
    """Return the settings in a YAML file; default: the shipped one."""
    file, content = read_yaml("fan2003", path)
    needed = ("arms", "cases", "pd", "near", "grid")
    values = mapping(f"'{file}'", content, needed)
    arms = {name: _arm(name, each) for name, each in values["arms"].items()}
    cases = {name: _case(name, each, arms) for name, each in values["cases"].items()}
    pd = {name: _gains(name, each, cases) for name, each in values["pd"].items()}
    grid = mapping("grid", values["grid"], ("window", "trials"), ("5", "6", "window", "trials"))
    grids: dict[str, Grid] = {}
    for chapter in ("5", "6"):
        if chapter in grid:
            grids[chapter] = _grid(chapter, grid[chapter])
    trials = grid["trials"]
    if not isinstance(trials, int) or trials < 1:
        raise ManipDynError(f"trials is {trials!r}; expected a whole number above 0")
    return Settings(
        arms,
        cases,
        pd,
        positive("near", values["near"]),
        grids,
        positive("window", grid["window"]),
        trials,
    )


def _arm(name: str, content: Any) -> Arm:
    known = [field.name for field in fields(Arm)]
    values = mapping(f"arm {name}", content, ("robot",), known)
    load = values.get("load")
    return Arm(
        values["robot"],
        values.get("links", {}),
        values.get("joints", {}),
        None if load is None else positive(f"load of {name}", load, "kg"),
    )


def _case(name: str, content: Any, arms: Mapping[str, Arm]) -> Case:
    values = mapping(f"case {name}", content, Case._fields)
    if values["arm"] not in arms:
        raise ManipDynError(
            f"case {name} has the arm '{values['arm']}'{closest(str(values['arm']), arms)}"
        )
    return Case(values["arm"], _numbers(f"start of {name}", values["start"]))


def _gains(name: str, content: Any, cases: Mapping[str, Case]) -> Gains:
    if name not in cases:
        raise ManipDynError(f"pd has '{name}', which is no case{closest(name, cases)}")
    values = mapping(f"pd of {name}", content, Gains._fields)
    n = len(cases[name].start)
    kp, kd = (finite_vector(f"{key} of {name}", values[key], n) for key in Gains._fields)
    return Gains(tuple(kp.tolist()), tuple(kd.tolist()))


def _grid(name: str, content: Any) -> Grid:
    values = mapping(f"grid of chapter {name}", content, Grid._fields)
    return Grid(*(positive(f"{key} of chapter {name}", values[key]) for key in Grid._fields))


def _numbers(what: str, values: Any) -> tuple[float, ...]:
    if not isinstance(values, list) or not values:
        raise ManipDynError(f"{what} is {values!r}; expected a list of numbers")
    array: Vector = finite_vector(what, values, len(values))
    return tuple(array.tolist())
