"""Settings of the study from ``config/galhano1994.yaml``: motions, methods and steps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector, finite_vector, positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.files import mapping
from manip_dyn.integration import METHODS, tableaus
from manip_dyn.robot import load_robot
from manip_dyn.studies.report.settings import (
    check_names,
    checked,
    list_of,
    numbers,
    positive_integer,
    records_by_name,
    string,
)

FAMILIES = ("fig3", "fig4", "fig5", "fig6", "fig7")


def _methods(name: str, value: Any) -> tuple[str, ...]:
    names = list_of(string)(name, value)
    check_names(name, names, METHODS)
    return names


def _families(name: str, value: Any) -> dict[str, tuple[str, ...]]:
    values = mapping(name, value, FAMILIES, FAMILIES)
    return {figure: _methods(figure, values[figure]) for figure in FAMILIES}


def _alternatives(name: str, value: Any) -> dict[int, tuple[str, ...]]:
    if not isinstance(value, dict) or not all(isinstance(order, int) for order in value):
        raise ManipDynError(f"{name} must map orders to names of tables, got {value!r}.")
    families = {order: list_of(string)(f"order {order}", names) for order, names in value.items()}
    for names in families.values():
        check_names(name, names, tableaus())
    return families


def _steps(name: str, value: Any) -> tuple[int, ...]:
    return tuple(sorted(list_of(positive_integer)(name, value)))


def _limits(name: str, value: Any) -> tuple[float, float]:
    least, most = finite_vector(name, value, 2)
    return float(least), float(most)


@dataclass(frozen=True)
class Start:
    """A motion: initial state, efforts and duration.

    Attributes:
        position: Joint positions (n,), rad or m.
        velocity: Joint velocities (n,), rad/s or m/s.
        efforts: Constant joint efforts (n,), N m or N.
        duration: Duration, s.
    """

    position: Vector = checked(numbers)
    velocity: Vector = checked(numbers)
    efforts: Vector = checked(numbers)
    duration: float = checked(positive, unit="s")

    @property
    def state(self) -> Vector:
        """Positions and velocities (2 n,)."""
        return np.concatenate([self.position, self.velocity])


@dataclass(frozen=True)
class Settings:
    """Settings of the study. The YAML file explains the choices.

    Attributes:
        motions: Motions by robot.
        steps: Increasing numbers of fixed steps.
        tolerances: Absolute tolerances, rad and rad/s.
        safety: Safety factor of the step control, sigma of eq. 14.
        safeties: Values of sigma that are compared.
        safety_methods: Embedded methods for which values of sigma are compared.
        alternatives: Names of alternative coefficients in ``tableaus.json``, by order.
        most_steps: Maximum number of steps of a run, including rejected steps.
        taylor_orders: Orders p of T_pp and T_p,p-1.
        methods: Names of integration methods, by figure.
        energy_methods: Names of integration methods for the energy chart.
        compared_errors: Range of errors in which claims are judged, rad.
        repeats: Number of timing rounds.
        slice: Smallest CPU time of a timing, s.
    """

    motions: Mapping[str, Start] = checked(records_by_name(Start))
    steps: tuple[int, ...] = checked(_steps)
    tolerances: tuple[float, ...] = checked(list_of(positive))
    safety: float = checked(positive)
    safeties: tuple[float, ...] = checked(list_of(positive))
    safety_methods: tuple[str, ...] = checked(_methods)
    alternatives: Mapping[int, tuple[str, ...]] = checked(_alternatives)
    most_steps: int = checked(positive_integer)
    taylor_orders: tuple[int, ...] = checked(list_of(positive_integer))
    methods: Mapping[str, tuple[str, ...]] = checked(_families)
    energy_methods: tuple[str, ...] = checked(_methods)
    compared_errors: tuple[float, float] = checked(_limits)
    repeats: int = checked(positive_integer)
    slice: float = checked(positive, unit="s")

    def __post_init__(self) -> None:
        """Check the number of joints of every motion."""
        for robot, start in self.motions.items():
            n = load_robot(robot).n
            for name in ("position", "velocity", "efforts"):
                finite_vector(f"{name} of {robot}", getattr(start, name), n)
