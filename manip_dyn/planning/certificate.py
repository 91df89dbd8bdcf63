"""Evidence that a plan takes minimum time.

`Certificate` records Pontryagin's necessary conditions of an exact extremal, `Convergence` the
tolerances of a motion that was refined on grids.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from manip_dyn.core.checks import Matrix, Vector

BOUNDARY_TOLERANCE, HAMILTONIAN_TOLERANCE, LEAST_MARGIN, LEAST_CURVATURE, LEAST_FORCE = (
    1e-8,
    1e-6,
    1e-6,
    -1e-9,
    -1e-9,
)
SINGULAR_SWITCHING_TOLERANCE = 1e-7
FULL_EFFORT = 1.0 + 1e-9
"""Efforts between their limits may come to them, but for rounding."""


@dataclass(frozen=True)
class SearchSummary:
    """What was searched before a motion was handed out.

    Attributes:
        guesses: Initial guesses of motions on a grid: the straight path and detours.
        motions: Different nearly optimal motions on the grid that they led to.
        structures: Switching structures that Newton's method was started from.
        extremals: Different motions among those it found that arrive within all limits.
        second: Final time of the second best of these, s; inf if there is none.
        on_grid: Least duration of a motion on the grid, s: above that of the best exact one by
            what the grid costs, or below it where that one was not found.
    """

    guesses: int
    motions: int
    structures: int
    extremals: int
    second: float
    on_grid: float


@dataclass(frozen=True, eq=False)
class Certificate:
    """How well a motion meets the necessary conditions for minimum time.

    Attributes:
        costates: Costates (2 n,) at the start, s per unit of the state: what the final time
            loses per unit by which the start is moved.
        jumps: By how much costates jump where a joint leaves a limit of position, has a contact
            point with one of position or speed, comes to one of speed or leaves it smoothly, or
            another effort takes the joint over there.
        boundary: Largest distance from the goal at rest at the end, in the units of the state.
        distance: Largest distance of a joint between start and goal, rad or m; with a short one
            the end has to be nearer.
        hamiltonian: Largest absolute value of H = 1 + p . x' along the motion; 0 in theory.
        margin: Least switching function with the sign that its effort asks for, over the largest
            one of the joint and over the share of the motion between this time and the joint's
            nearest switch (at a switch: its slope; near a singular arc: the share squared).
            Below 0 an effort has the wrong sign, at 0 a switch is not strict.
        curvature: Least second derivative of the final time along those changes of the switches
            that still arrive, s/s^2; inf where there are none, as with 2 n - 1 switches.
        singular: Joints whose switching function is zero throughout, so that the conditions do
            not say what their efforts have to be.
        singular_arcs: Joint, begin and end (s) of the arcs in which its effort lies between the
            limits and keeps its switching function zero.
        singular_effort: Largest effort over its limit on singular arcs and at limits of position
            or speed, 0 without any.
        singular_switching: Largest switching function there, over the joint's largest.
        limit_arcs: Joint, ``speed`` or ``position``, begin and end (s) of where it is at its
            limit, whichever effort keeps it there; both are the same at a contact point.
        limit_force: Least multiplier of these limits over the largest one; inf without any. It
            must not be negative (Hartl, Sethi, Vickson 1995, theorem 4.1).
        legendre_clebsch: Least fall of the second rate of the switching function with the effort
            there, times t_final^2 over the largest switching function; inf without any. It has
            to be above 0 (Kelley, Kopp, Moyer 1967).
        searched: What the search looked at, and the second best.
        times: Sample times (k,), s.
        switching: Switching functions (k, n) there.
        hamiltonians: H (k,) there.
    """

    costates: Vector
    jumps: Vector
    boundary: float
    distance: float
    hamiltonian: float
    margin: float
    curvature: float
    singular: tuple[str, ...]
    singular_arcs: tuple[tuple[str, float, float], ...]
    singular_effort: float
    singular_switching: float
    limit_arcs: tuple[tuple[str, str, float, float], ...]
    limit_force: float
    legendre_clebsch: float
    times: Vector = field(repr=False)
    switching: Matrix = field(repr=False)
    hamiltonians: Vector = field(repr=False)
    searched: SearchSummary | None = None

    @property
    def failures(self) -> list[str]:
        """What does not hold, one phrase each; empty for a certified motion."""
        found = []
        if not self.boundary <= BOUNDARY_TOLERANCE * min(1.0, self.distance):
            found.append(f"it ends {self.boundary:.1e} from the goal at rest")
        if not self.hamiltonian <= HAMILTONIAN_TOLERANCE:
            found.append(f"its Hamiltonian reaches {self.hamiltonian:.1e}")
        if self.singular:
            found.append(f"the efforts of {', '.join(self.singular)} are singular")
        if not self.margin >= LEAST_MARGIN:
            found.append(f"a switching function has the wrong sign (margin {self.margin:.1e})")
        if not self.singular_effort <= FULL_EFFORT:
            found.append(
                f"an effort between limits would be {self.singular_effort:.3g} times its limit"
            )
        if not self.singular_switching <= SINGULAR_SWITCHING_TOLERANCE:
            found.append(f"S reaches {self.singular_switching:.1e} where it has to be 0")
        if not self.limit_force >= LEAST_FORCE:
            found.append(f"a limit pulls instead of pushing ({self.limit_force:.1e})")
        if not self.legendre_clebsch > 0.0:
            found.append("a singular arc does not meet the Legendre-Clebsch condition")
        if not self.curvature >= LEAST_CURVATURE:
            found.append("it is a saddle, not a minimum")
        return found

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that every motion is judged by."""
        return {
            "boundary": self.boundary,
            "hamiltonian": self.hamiltonian,
            "margin": float(self.margin),
        }

    @property
    def lack(self) -> float:
        """By how much margin, efforts and multipliers lack what they should be, 0 if nothing."""
        signs = (self.margin, FULL_EFFORT - self.singular_effort, self.limit_force)
        return -sum(min(sign, 0.0) for sign in signs)

    @property
    def holds(self) -> bool:
        """Whether all conditions are met, strictly."""
        return not self.failures


GAP_TOLERANCE, KKT_TOLERANCE, RMS_HAMILTONIAN_TOLERANCE, LOAD_BOUND = 1e-3, 1e-6, 2e-2, 1.0 + 1e-9


@dataclass(frozen=True)
class GridSearchSummary:
    """What was searched on grids before a motion was handed out.

    Attributes:
        guesses: Initial guesses: the straight path and detours.
        motions: Different motions on the coarse grid that they led to.
        refined: How many of these were compared on the next one.
        second: Duration of the second best of these there, s; inf if there is none.
        best: That of the best one there, s.
    """

    guesses: int
    motions: int
    refined: int
    second: float
    best: float


@dataclass(frozen=True, eq=False)
class Convergence:
    """How nearly a motion is the fastest of those near it.

    Attributes:
        gap: By how much motions near it can be faster, s: what the barrier, the finest grid, one
            more step and the limits between the nodes cost, to first order. What the grid costs
            is extrapolated from the last two.
        t_final: How long it takes, s.
        kkt: Share of the duration that one more Newton step was to bring: what is left of the
            Karush-Kuhn-Tucker conditions, in the metric of the step.
        hamiltonian: Root mean square of H = 1 + p . x' along the motion; 0 in theory. It is from
            differences on the grid, wrong for a cell or two where p_q jumps.
        load: Largest effort over its limit, between the nodes, too.
        durations: The fastest motions on the last grids, s.
        cells: Cells of the finest grid.
        times: Times of the nodes (k,), s.
        costates: Costates there (k, 2 n), s per unit of the state.
        switching: Switching functions there (k, n).
        hamiltonians: H (k,) there.
        passed: What passes a limit, a phrase; empty if nothing does.
        searched: What the search looked at.
    """

    gap: float
    t_final: float
    kkt: float
    hamiltonian: float
    load: float
    durations: tuple[float, ...]
    cells: int
    times: Vector = field(repr=False)
    costates: Matrix = field(repr=False)
    switching: Matrix = field(repr=False)
    hamiltonians: Vector = field(repr=False)
    passed: str
    searched: GridSearchSummary

    @property
    def failures(self) -> list[str]:
        """What does not hold, one phrase each; empty for a motion that has converged."""
        found = [self.passed] if self.passed else []
        if not self.load <= LOAD_BOUND:
            found.append(f"an effort reaches {self.load:.9g} times its limit")
        if not self.gap <= GAP_TOLERANCE * self.t_final:
            found.append(f"motions near it may be faster by {self.gap:.2g} s")
        if not self.kkt <= KKT_TOLERANCE:
            found.append(f"one more step was to save {self.kkt:.1e} of its duration")
        if not self.hamiltonian <= RMS_HAMILTONIAN_TOLERANCE:
            found.append(f"the root mean square of its Hamiltonian is {self.hamiltonian:.1e}")
        return found

    @property
    def holds(self) -> bool:
        """Whether all numbers are within their tolerances."""
        return not self.failures

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers that are judged."""
        return {
            "gap": self.gap,
            "kkt": self.kkt,
            "hamiltonian": self.hamiltonian,
            "load": self.load,
        }
