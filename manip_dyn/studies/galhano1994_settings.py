"""What `study galhano1994` integrates and with what: ``config/galhano1994.yaml``, checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from manip_dyn.errors import ManipDynError, closest
from manip_dyn.integrate import METHODS
from manip_dyn.robot import load_robot
from manip_dyn.studies.yaml_file import count, mapping, read_yaml
from manip_dyn.validate import Vector, finite_vector, positive

FAMILIES = ("fig3", "fig4", "fig5", "fig6", "fig7")


@dataclass(frozen=True)
class Start:
    """A motion: where it starts, what drives it, how long it lasts.

    Attributes:
        position: Joint positions (n,), rad or m.
        velocity: Joint velocities (n,), rad/s or m/s.
        efforts: Constant joint efforts (n,), N m or N.
        duration: s.
    """

    position: Vector
    velocity: Vector
    efforts: Vector
    duration: float


@dataclass(frozen=True)
class Settings:
    """The study's settings; the file says why each is what it is.

    Attributes:
        motions: Robot -> its motion.
        steps: Numbers of fixed steps.
        tolerances: Absolute tolerances, rad and rad/s.
        most_steps: Steps, failed ones included, before a run gives up.
        taylor_orders: Orders p of T_pp and T_p,p-1.
        methods: Figure -> names in the registry.
        energy_methods: Names in the registry.
        compared_errors: Errors between which claims are judged, rad.
        repeats: Timings of which the median counts.
        slice: Least CPU time of each, s.
    """

    motions: Mapping[str, Start]
    steps: tuple[int, ...]
    tolerances: tuple[float, ...]
    most_steps: int
    taylor_orders: tuple[int, ...]
    methods: Mapping[str, tuple[str, ...]]
    energy_methods: tuple[str, ...]
    compared_errors: tuple[float, float]
    repeats: int
    slice: float


def read_settings(path: str | Path | None = None) -> Settings:
    """Return the settings in a YAML file; default: the shipped one."""
    file, content = read_yaml("galhano1994", path)
    values = mapping(f"'{file}'", content, [field.name for field in fields(Settings)])
    methods = mapping("methods", values["methods"], FAMILIES)
    least, most = finite_vector("compared_errors", values["compared_errors"], 2)
    return Settings(
        motions={name: _start(name, each) for name, each in values["motions"].items()},
        steps=tuple(sorted(count("steps", each) for each in values["steps"])),
        tolerances=tuple(positive("tolerances", each) for each in values["tolerances"]),
        most_steps=count("most_steps", values["most_steps"]),
        taylor_orders=tuple(count("taylor_orders", each) for each in values["taylor_orders"]),
        methods={figure: _names(figure, methods[figure]) for figure in FAMILIES},
        energy_methods=_names("energy_methods", values["energy_methods"]),
        compared_errors=(float(least), float(most)),
        repeats=count("repeats", values["repeats"]),
        slice=positive("slice", values["slice"], "s"),
    )


def _start(name: str, content: Any) -> Start:
    n = load_robot(name).n
    values = mapping(f"motion of {name}", content, [field.name for field in fields(Start)])
    arrays = {
        key: finite_vector(f"{key} of {name}", values[key], n)
        for key in ("position", "velocity", "efforts")
    }
    return Start(**arrays, duration=positive(f"duration of {name}", values["duration"], "s"))


def _names(what: str, names: Any) -> tuple[str, ...]:
    for name in names:
        if name not in METHODS:
            raise ManipDynError(f"{what} has the method '{name}'{closest(str(name), METHODS)}")
    return tuple(names)
