"""What every integration method is: a name, its figures, and the text of one step.

A family of methods is a subclass; its `pieces` are what `loop` puts into the time loop. The
names that pieces share with the loop are listed there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True)
class Options:
    """What a time loop is generated for.

    Attributes:
        size: Length m of the state.
        adaptive: Whether the step follows from tolerances.
        dense: Whether each step leaves a polynomial.
        controller: ``"pi"`` or ``"paper"``, see `control`.
        norm: ``"max"`` or ``"rms"``: how an error vector becomes a number.
        events: Number of event functions.
        acts: Whether events have an action.
        positions: Number n of positions of a second-order system, see `Jacobian`.
        jacobian: Whether a function gives the Jacobian; otherwise differences do.
        mass: Whether its rows come multiplied by a mass matrix, see `Jacobian`.
        estimate: ``"plain"`` or ``"scaled"``: error estimates of Rosenbrock methods.
    """

    size: int
    adaptive: bool = False
    dense: bool = False
    controller: str = "pi"
    norm: str = "max"
    events: int = 0
    acts: bool = False
    positions: int = 0
    jacobian: bool = False
    mass: bool = False
    estimate: str = "plain"


class Pieces(NamedTuple):
    """Lines of text of one step; each may use the names that `loop` documents.

    Attributes:
        rows: Number of rows (m,) that the step needs of the work array (rows, m); those of a
            Taylor series come on top.
        views: Names the rows; the first must be `u`, the state at the end of the step.
        prepare: Brings what is known at the start of the step up to date.
        attempt: Computes `u` from `y` with the step `h`.
        judge: Lets the step pass, or sets `planned` and continues, or sets `status` and breaks.
        polynomial: Fills `polynomials[pieces]` (degree + 1, m) for the step; left out if the
            output is not dense.
        closing: Keeps what the next step can use and says so in `known`.
        adapt: Plans the next step from what `judge` found, if adaptive.
        degree: Degree of the polynomial; 0 for that of the Taylor series.
        slope: The rate of component i at the start of the step, once `prepare` is done.
        scratch: Shape of the array `scratch`, if the step needs one of a shape of its own.
        imports: Lines that bring the functions that the step calls.
    """

    rows: int
    views: list[str]
    prepare: list[str]
    attempt: list[str]
    judge: list[str]
    polynomial: list[str]
    closing: list[str]
    adapt: list[str]
    degree: int
    slope: str = "k0[i]"
    scratch: tuple[int, int] = (0, 0)
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Method(ABC):
    """An integration method; frozen.

    Attributes:
        name: Its name in the registry.
    """

    name: str

    @property
    @abstractmethod
    def family(self) -> str:
        """What kind it is, for people."""

    @property
    @abstractmethod
    def source(self) -> str:
        """Who published its coefficients, when."""

    @property
    @abstractmethod
    def order(self) -> int | None:
        """Order of the solution; None if the user chooses."""

    @property
    def embedded_order(self) -> int | None:
        """Order of the solution that it is compared with; None without."""
        return None

    @property
    @abstractmethod
    def stages(self) -> int:
        """Evaluations of the right-hand side that a step needs, the first one included."""

    @property
    def fsal(self) -> bool:
        """Whether the last stage is the first one of the next step."""
        return False

    @property
    def adaptive(self) -> bool:
        """Whether it can choose its steps from tolerances."""
        return self.embedded_order is not None

    @property
    @abstractmethod
    def dense_order(self) -> int | None:
        """Order of the error between the steps in dense output; None if the user chooses."""

    @property
    @abstractmethod
    def stability_interval(self) -> float | None:
        """Largest x such that steps on y' = -s y do not grow for 0 <= h s <= x; None if open."""

    @abstractmethod
    def pieces(self, options: Options) -> Pieces:
        """Return the text of a step."""


def combination(weights: Sequence[float], names: Sequence[str]) -> str:
    """Return the text of sum_i weights_i names_i[i] over the weights that are not zero."""
    text = ""
    for weight, name in zip(weights, names, strict=True):
        if weight:
            factor = "" if abs(weight) == 1.0 else f"{abs(weight)!r} * "
            sign = " - " if weight < 0.0 else " + "
            text += f"{sign}{factor}{name}[i]"
    text = text.strip() or "0.0"
    return text.removeprefix("+ ")


def over(size: int, *body: str) -> list[str]:
    """Return a loop of `body` over the components i of a state of `size`."""
    return [f"for i in range({size}):", *("    " + line for line in body)]
