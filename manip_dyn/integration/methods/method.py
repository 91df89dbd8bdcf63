"""Base class of integration methods: name, properties, and the compiled functions of a step.

Each family of methods is a subclass. Its `step` returns the functions that the time loop calls,
see `time_loop`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple

from manip_dyn.integration.methods import template_parameters

STEP = ("prepare", "attempt", "interpolate", "close", "adapt")
"""Names of the functions of a step that `time_loop` calls."""

LOWEST_ORDER, HIGHEST_ORDER = 2, 60
"""Range of the order of a Taylor series."""
ORDER_FACTOR = 0.65
"""Ratio of the cheapest order to -ln(eps), measured for arms with 2 and 7 joints. The cost is
nearly the same from 0.55 to 0.75."""


def order_for(tolerance: float) -> int:
    """Return the order at which a Taylor series has the lowest estimated cost for a tolerance."""
    order = math.ceil(1.0 - ORDER_FACTOR * math.log(max(tolerance, 1e-18)))
    return min(max(order, LOWEST_ORDER), HIGHEST_ORDER)


@dataclass(frozen=True)
class Options:
    """Options for which a time loop is compiled.

    Attributes:
        size: Length m of the state.
        adaptive: Whether tolerances determine the step.
        dense: Whether each step stores a polynomial for dense output.
        controller: ``"pi"`` or ``"paper"``, see `step_control`.
        norm: ``"max"`` or ``"rms"``: norm of the error.
        events: Number of event functions.
        has_actions: Whether events have an action.
        positions: Number n of positions of a second-order system, see `Jacobian`.
        jacobian: Whether a function computes the Jacobian; otherwise central differences are used.
        mass: Whether the rows of the Jacobian are multiplied by a mass matrix, see `Jacobian`.
        estimate: ``"plain"`` or ``"scaled"`` error estimate of Rosenbrock methods.
        inspected: Whether adaptive steps with small error estimates are inspected, see
            `step_inspection`. Not for Taylor series.
    """

    size: int
    adaptive: bool = False
    dense: bool = False
    controller: str = "pi"
    norm: str = "max"
    events: int = 0
    has_actions: bool = False
    positions: int = 0
    jacobian: bool = False
    mass: bool = False
    estimate: str = "plain"
    inspected: bool = False


class Step(NamedTuple):
    """The compiled step of a method, as part of a time loop.

    Attributes:
        arguments: Arguments of template parameters, see `step_arguments`.
        rows: Number of rows (m,) of the work array. The first row is the state at the end of the
            step. Rows of a Taylor series are not counted.
        degree: Degree of the polynomials of dense output; 0 for the degree of the Taylor series.
        scratch: Shape of the array `scratch`; (0, 0) if the method does not determine it.
    """

    arguments: Mapping[Any, Any]
    rows: int
    degree: int
    scratch: tuple[int, int] = (0, 0)


def step_arguments(module: ModuleType, **arguments: Any) -> dict[Any, Any]:
    """Return the arguments of the template parameters of a step.

    Args:
        module: Module with the functions `STEP` and the number RATE, see `time_loop`.
        arguments: Numbers, tables (r, c) and functions of the method by their names in
            `template_parameters`; None for the default.
    """
    named = {name: getattr(module, name) for name in STEP} | {"rate_row": module.RATE} | arguments
    parameters = {getattr(template_parameters, name): value for name, value in named.items()}
    return {parameter: parameter if x is None else x for parameter, x in parameters.items()}


@dataclass(frozen=True)
class Method(ABC):
    """Base class of integration methods, which are immutable.

    Attributes:
        name: Name in the registry.
    """

    name: str

    @property
    @abstractmethod
    def family(self) -> str:
        """Name of the family of methods."""

    @property
    @abstractmethod
    def source(self) -> str:
        """Author and year of the coefficients."""

    @property
    @abstractmethod
    def order(self) -> int | None:
        """Order of the solution; None if it varies."""

    @property
    def embedded_order(self) -> int | None:
        """Order of the embedded solution, or None."""
        return None

    @property
    @abstractmethod
    def stages(self) -> int:
        """Evaluations of the right-hand side per step, including the first stage."""

    @property
    def fsal(self) -> bool:
        """Whether the last stage is the first stage of the next step."""
        return False

    @property
    def implicit(self) -> bool:
        """Whether the method uses derivatives of the right-hand side."""
        return False

    @property
    def series(self) -> bool:
        """Whether the right-hand side is a `Series`."""
        return False

    @property
    def multistep(self) -> bool:
        """Whether a step uses earlier steps, so that a shortened step restarts the method."""
        return False

    @property
    def adaptive(self) -> bool:
        """Whether tolerances can determine the step."""
        return self.embedded_order is not None

    @property
    @abstractmethod
    def dense_order(self) -> int | None:
        """Order of the dense output; None if it varies."""

    @property
    @abstractmethod
    def stability_interval(self) -> float | None:
        """Largest x such that y' = -s y is stable for 0 <= h s <= x; None if it varies."""

    @property
    def stand_in(self) -> Any:
        """Template parameter for the right-hand side."""
        return template_parameters.rhs

    @abstractmethod
    def step(self, options: Options, rhs: Any) -> Step:
        """Return the compiled functions of a step.

        Args:
            options: Options of the time loop.
            rhs: The compiled right-hand side, or its template parameter.
        """
