"""Settings of the study from ``config/fan2003.yaml``, and the arms that they define."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from manip_dyn.bench.robots import changed_robot
from manip_dyn.core.checks import finite_vector, not_negative, positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import mapping
from manip_dyn.robot import Robot
from manip_dyn.studies.report.settings import (
    check_names,
    checked,
    list_of,
    numbers,
    positive_integer,
    record_of,
    records_by_name,
    string,
)

CHAPTERS = ("5", "6")


def _numbers(name: str, value: Any) -> tuple[float, ...]:
    return tuple(numbers(name, value).tolist())


def _changes(name: str, value: Any) -> Mapping[str, Mapping[str, Any]]:
    """Check that `value` maps links or joints to changes. `build_arm` checks the changes."""
    if not isinstance(value, dict) or not all(isinstance(part, dict) for part in value.values()):
        raise ManipDynError(f"{name} must map links or joints to changes, got {value!r}.")
    return value


@dataclass(frozen=True)
class Arm:
    """A shipped robot with changed parameters.

    Attributes:
        robot: Name of the shipped robot.
        links: Changes by link: ``mass`` (kg), ``com`` (3,) (m), principal ``inertia`` (3,) (kg
            m^2).
        joints: Changes by joint: ``origin`` (3,) (m), ``effort``, ``lower``, ``upper``.
        load: Mass at the tip, kg. Default: the load of the shipped robot.
    """

    robot: str = checked(string)
    links: Mapping[str, Mapping[str, Any]] | None = checked(_changes, default=None)
    joints: Mapping[str, Mapping[str, Any]] | None = checked(_changes, default=None)
    load: float | None = checked(positive, default=None, unit="kg")


@dataclass(frozen=True)
class Case:
    """A motion from rest at `start` (n,), rad or m, to rest at zero."""

    arm: str = checked(string)
    start: tuple[float, ...] = checked(_numbers)


@dataclass(frozen=True)
class Gains:
    """Gains of PD control.

    Attributes:
        kp: Proportional gains (n,), N m/rad or N/m.
        kd: Derivative gains (n,), N m s/rad or N s/m.
    """

    kp: tuple[float, ...] = checked(_numbers)
    kd: tuple[float, ...] = checked(_numbers)


@dataclass(frozen=True)
class Grid:
    """Parameters of the grid search in a chapter of the thesis.

    Attributes:
        step: Initial step of the grid, rad or m.
        enough: Work on the links below which a trial succeeds (`Werror`), J.
        longest: Time limit of a motion (`Tstop`), s.
    """

    step: float = checked(positive)
    enough: float = checked(positive)
    longest: float = checked(positive)


@dataclass(frozen=True)
class GridSearch:
    """Grid searches of the thesis, on the whole grid and near the exact switching positions.

    Attributes:
        chapters: Grids by number of the chapter.
        window: Half-width of the window around the exact switching positions, rad or m.
        trials: Maximum number of motions in the window.
        full: Maximum number of motions on the whole grid if a single joint moves.
    """

    chapters: Mapping[str, Grid]
    window: float
    trials: int
    full: int


def _grid_search(name: str, value: Any) -> GridSearch:
    bounds = ("window", "trials", "full")
    values = mapping(name, value, (*CHAPTERS, *bounds), bounds)
    chapters = {k: record_of(Grid)(f"chapter {k}", values[k]) for k in CHAPTERS if k in values}
    return GridSearch(
        chapters,
        positive("window", values["window"]),
        positive_integer("trials", values["trials"]),
        positive_integer("full", values["full"]),
    )


@dataclass(frozen=True)
class Disturbed:
    """Disturbances for the PD backup: load (kg), and push as a fraction of the effort limits."""

    load: float = checked(positive)
    push: float = checked(positive)


@dataclass(frozen=True)
class Decoupled:
    """Two links on perpendicular rails, figure 3.5.

    Attributes:
        masses: Masses (2,), kg.
        forces: Force limits (2,), N.
        start: Initial positions (2,), m.
    """

    masses: tuple[float, ...] = checked(_numbers)
    forces: tuple[float, ...] = checked(_numbers)
    start: tuple[float, ...] = checked(_numbers)


@dataclass(frozen=True)
class Settings:
    """Settings of the study. The YAML file names their sources.

    Attributes:
        arms: Arms by name.
        cases: Motions by table or section.
        pd: PD gains by table.
        pd_search: Gains at which the search for faster PD control starts, by table.
        near: Distance from the goal within which a joint has arrived in the thesis, rad or m.
        grid: Grid searches of the thesis.
        late: Delays from a comparison to the change of the effort in the thesis's programs, s.
        decoupled: The arm of section 3.1.3.
        off_switch: Error of the switching positions of figures 3.9 and 3.11, rad.
        backup: Disturbances of the PD backup.
    """

    arms: Mapping[str, Arm] = checked(records_by_name(Arm))
    cases: Mapping[str, Case] = checked(records_by_name(Case))
    pd: Mapping[str, Gains] = checked(records_by_name(Gains))
    pd_search: Mapping[str, Gains] = checked(records_by_name(Gains))
    near: float = checked(positive)
    grid: GridSearch = checked(_grid_search)
    late: tuple[float, ...] = checked(list_of(not_negative))
    decoupled: Decoupled = checked(record_of(Decoupled))
    off_switch: float = checked(positive)
    backup: Disturbed = checked(record_of(Disturbed))

    def __post_init__(self) -> None:
        """Check the names of arms and cases, and the lengths of gains and of `decoupled`."""
        for name, case in self.cases.items():
            if case.arm not in self.arms:
                hint = closest(case.arm, self.arms)
                raise ManipDynError(f"arm of case {name} must be defined, got '{case.arm}'{hint}")
        check_names("pd", self.pd, self.cases)
        for part in ("masses", "forces", "start"):
            finite_vector(f"{part} of decoupled", getattr(self.decoupled, part), 2)
        check_names("pd_search", self.pd_search, self.pd)
        for name, gains in (*self.pd.items(), *self.pd_search.items()):
            n = len(self.cases[name].start)
            finite_vector(f"kp of {name}", gains.kp, n)
            finite_vector(f"kd of {name}", gains.kd, n)


def build_arm(name: str, arm: Arm) -> Robot:
    """Return the robot for an arm of the settings."""
    return changed_robot(name, arm.robot, arm.links, arm.joints, arm.load)
