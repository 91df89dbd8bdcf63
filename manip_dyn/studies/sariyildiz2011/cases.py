"""What is run: cases, what they came to, the choices that the paper leaves open; their names."""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.integration.methods.adams import Adams

COARSE, FINE = 1.0, 0.1
"""The printed sampling periods that the claims are about, s."""
LABELS = {
    "rk1": "Euler",
    "rk2": "RK2",
    "rk4": "RK4",
    "euler_trapezoidal": "Euler trapezoidal",
    "ab4": "Adams-Bashforth 4",
    "abm4": "Adams-Moulton 4",
    "ab4_rising": "Adams-Bashforth 4, low start",
    "abm4_rising": "Adams-Moulton 4, low start",
}


RISING = {
    "ab4_rising": Adams("ab4_rising", corrected=False, rising=True),
    "abm4_rising": Adams("abm4_rising", corrected=True, rising=True),
}
"""Adams methods started as in the paper, by formulas of lower orders; those of the registry start
with steps of rk4."""


class Case(NamedTuple):
    """What a run is.

    Attributes:
        circle: Its name.
        method: Integrator, a name in `METHODS` or `RISING`.
        step: s.
        gain: 1/s.
        offset: Of the start from the path, along the circle's normal, m.
        orientation_error: Name in `manip_dyn.clik.ERRORS`.
        inverse: Name in `manip_dyn.clik.INVERSES`.
        limited: Whether the joint and speed limits of the PA-10 hold.
        laps: Full circles.
    """

    circle: str
    method: str
    step: float
    gain: float
    offset: float = 0.0
    orientation_error: str = "columns"
    inverse: str = "pseudo_inverse"
    limited: bool = False
    laps: int = 3


class Run(NamedTuple):
    """What a run came to.

    Attributes:
        t: Ends of stretches of time (k,), s.
        position: Largest position error in each, m.
        orientation: Largest orientation error in each, rad.
        first: Largest position error in the first lap, m.
        steady: Largest position error after the first lap, m.
        steady_orientation: Largest orientation error after the first lap, rad.
        growth: Largest position error of the last lap over that of the one before.
        stable: Whether the path is not lost and errors do not grow.
        largest: Largest position error, m.
        last: Position error at the end, m.
        speed: Largest joint speed as a share of the PA-10's limit.
        smallest: Smallest singular value of J in the run.
        near: Largest position error once the circle has come near a singular posture, m; NaN
            where none is.
        before: Largest position error before, m.
        within: Whether all joints stayed in the PA-10's range in the first lap.
    """

    t: tuple[float, ...]
    position: tuple[float, ...]
    orientation: tuple[float, ...]
    first: float
    steady: float
    steady_orientation: float
    growth: float
    stable: bool
    largest: float
    last: float
    speed: float
    smallest: float
    near: float
    before: float
    within: bool


class Choice(NamedTuple):
    """One way to fill in what the paper leaves open."""

    circle: str
    gain: float
    offset: float
    orientation_error: str

    def __str__(self) -> str:
        """Return it in words."""
        text = f"{self.circle}, K {self.gain:g}"
        if self.offset:
            text += f", start {self.offset:g} m off"
        return text if self.orientation_error == "columns" else f"{text}, {self.orientation_error}"


class Varied(NamedTuple):
    """The runs of all methods at one step under one choice."""

    choice: Choice
    step: float
    runs: dict[str, Run]


def shown(name: str) -> str:
    """Return a name from the settings as words."""
    return name.replace("_", " ")
