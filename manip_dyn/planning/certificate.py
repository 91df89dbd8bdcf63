"""Evidence that a plan takes minimum time.

A `Certificate` contains the residuals of Pontryagin's necessary conditions for an exact extremal.
A `Convergence` contains the error bounds of a motion that was refined on grids.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

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
"""Largest normalized effort that counts as within the limits."""


@dataclass(frozen=True)
class SearchSummary:
    """Extent of the search that preceded a plan.

    Attributes:
        guesses: Number of initial guesses on a grid: the straight path and detours.
        motions: Number of distinct, nearly optimal motions on the grid.
        structures: Number of switching structures for which Newton's method was started.
        extremals: Number of distinct extremals whose certificates hold within all limits.
        second: Final time of the second-best of these extremals, s; inf if there is none.
        on_grid: Shortest duration of a motion on any grid, s; inf if there is none. It usually
            exceeds the duration of the best extremal by the discretization error. If it is
            shorter, the search may have missed a faster extremal.
    """

    guesses: int
    motions: int
    structures: int
    extremals: int
    second: float
    on_grid: float


@dataclass(frozen=True, eq=False)
class Certificate:
    """Residuals of Pontryagin's necessary conditions for minimum time.

    Attributes:
        costates: Initial costates (2 n,), s per unit of the state: the increase of the final time
            per unit change of the initial state.
        jumps: Jumps of the costates. They occur where a joint leaves a position limit, where it
            has a contact point with a position or speed limit, where it reaches a speed limit or
            leaves it smoothly, and at handovers.
        boundary: Largest distance of the final state from rest at the goal, in the units of the
            state.
        distance: Largest distance of a joint between start and goal, rad or m. If it is below 1,
            the tolerance of `boundary` is proportional to it.
        hamiltonian: Largest absolute value of H = 1 + p . dx/dt along the motion, with the
            costates p and the state x; 0 in theory.
        margin: Smallest switching function, multiplied by minus the sign of the effort. A negative
            value means that an effort has the wrong sign, and zero that a switch is not strict.
            The switching function is divided by the joint's largest value, and by the time to the
            joint's nearest switch relative to the duration. At a switch, its slope is used. Near a
            singular arc, it is divided by the square of the relative time.
        curvature: Smallest second derivative of the final time along changes of the switches that
            still reach the goal, s/s^2; inf if there are none, as with 2 n - 1 switches.
        singular: Joints with a zero switching function during the whole motion. The conditions do
            not determine their efforts.
        singular_arcs: Joint, start and end (s) of each singular arc. On it, the effort is between
            the limits and the switching function is zero.
        singular_effort: Largest ratio of an effort to its limit on singular and boundary arcs; 0
            without such arcs.
        singular_switching: Largest absolute switching function of these efforts on these arcs,
            divided by the joint's largest value; 0 without such arcs.
        limit_arcs: Joint, ``speed`` or ``position``, start and end (s) of each boundary arc. Start
            and end are equal at a contact point.
        limit_force: Ratio of the smallest to the largest multiplier of these limits; inf without
            boundary arcs. It must not be negative (Hartl, Sethi, Vickson 1995, theorem 4.1).
        legendre_clebsch: Smallest decrease of the second time derivative of the switching function
            with the effort on singular arcs, times t_final^2 and divided by the largest switching
            function; inf without singular arcs. It must be positive (Kelley, Kopp, Moyer 1967).
        searched: Extent of the search, with the second-best extremal, or None.
        times: Sample times (k,), s.
        switching: Switching functions (k, n) at the sample times.
        hamiltonians: H (k,) at the sample times.
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

    def __str__(self) -> str:
        """Return one line with the violated conditions, or with the most important residuals."""
        if self.failures:
            return f"conditions violated: {'; '.join(self.failures)}"
        return (
            f"conditions satisfied: {self.boundary:.1e} from the goal at rest, |H| at most "
            f"{self.hamiltonian:.1e}, margin {self.margin:.2g}, {len(self.limit_arcs)} boundary "
            f"arcs, {len(self.singular_arcs)} singular arcs"
        )

    @property
    def failures(self) -> list[str]:
        """Phrases that describe the violated conditions; empty for a certified motion."""
        phrases = []
        if not self.boundary <= BOUNDARY_TOLERANCE * min(1.0, self.distance):
            phrases.append(f"the motion ends {self.boundary:.1e} from the goal at rest")
        if not self.hamiltonian <= HAMILTONIAN_TOLERANCE:
            phrases.append(f"its Hamiltonian is {self.hamiltonian:.1e}")
        if self.singular:
            phrases.append(f"the efforts of {', '.join(self.singular)} are singular")
        if not self.margin >= LEAST_MARGIN:
            phrases.append(f"a switching function has the wrong sign (margin {self.margin:.1e})")
        if not self.singular_effort <= FULL_EFFORT:
            phrases.append(
                f"an effort between limits would be {self.singular_effort:.3g} times its limit"
            )
        if not self.singular_switching <= SINGULAR_SWITCHING_TOLERANCE:
            phrases.append(
                f"a singular switching function is {self.singular_switching:.1e} instead of 0"
            )
        if not self.limit_force >= LEAST_FORCE:
            phrases.append(f"a limit pulls instead of pushing ({self.limit_force:.1e})")
        if not self.legendre_clebsch > 0.0:
            phrases.append("a singular arc does not meet the Legendre-Clebsch condition")
        if not self.curvature >= LEAST_CURVATURE:
            phrases.append("it is a saddle, not a minimum")
        return phrases

    @property
    def numbers(self) -> dict[str, float]:
        """The values `boundary`, `hamiltonian` and `margin` by name, defined for every motion."""
        return {
            "boundary": self.boundary,
            "hamiltonian": self.hamiltonian,
            "margin": float(self.margin),
        }

    @property
    def holds(self) -> bool:
        """Whether all conditions are satisfied."""
        return not self.failures


GAP_TOLERANCE, KKT_TOLERANCE, RMS_HAMILTONIAN_TOLERANCE, LOAD_BOUND = 1e-3, 1e-6, 1e-2, 1.0 + 1e-9


@dataclass(frozen=True)
class GridSearchSummary:
    """Extent of the grid search that preceded a plan.

    Attributes:
        guesses: Number of initial guesses: the straight path and detours.
        motions: Number of distinct motions on the coarse grid.
        refined: Number of motions that were compared on the next grid.
        second: Duration of the second-best motion on that grid, s; inf if there is none.
        best: Duration of the best motion on that grid, s; inf if there is none.
    """

    guesses: int
    motions: int
    refined: int
    second: float
    best: float


@dataclass(frozen=True, eq=False)
class Convergence:
    """Evidence that a motion refined on grids is nearly the fastest one in its neighbourhood.

    Attributes:
        gap: First-order estimate of how much faster a nearby motion can be, s. It is the sum of
            contributions of the barrier, of the finest grid (extrapolated from the last two
            grids), of one more step, and of the limits between the nodes.
        t_final: Duration of the motion, s.
        kkt: Decrease of the duration that one more Newton step predicts, as a fraction of the
            duration. It is the residual of the Karush-Kuhn-Tucker conditions in the metric of the
            step.
        hamiltonian: Root mean square of H = 1 + p . dx/dt along the motion; 0 in theory. It is
            computed from differences on the grid, which are inaccurate in one or two cells at
            jumps of the position costates, before effort limits are tightened between nodes. It
            reaches 0.009 in converged motions of random arms.
        load: Largest ratio of an effort to its limit, at and between the nodes.
        durations: Durations of the motion on successive grids, s.
        cells: Number of cells of the finest grid.
        times: Times of the inner nodes (k,), s.
        costates: Costates at these nodes (k, 2 n), s per unit of the state.
        switching: Switching functions at these nodes (k, n).
        hamiltonians: H at these nodes (k,).
        passed: Phrase that names an exceeded position or speed limit, or "".
        searched: Extent of the search.
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
        """Phrases for exceeded limits and tolerances; empty for a converged motion."""
        phrases = [self.passed] if self.passed else []
        if not self.load <= LOAD_BOUND:
            phrases.append(f"an effort is {self.load:.9g} times its limit")
        if not max(self.gap, self.kkt) < inf:
            phrases.append("it did not converge, so that motions near it may be much faster")
        elif not self.gap <= GAP_TOLERANCE * self.t_final:
            phrases.append(f"motions near it may be faster by {self.gap:.2g} s")
        if KKT_TOLERANCE < self.kkt < inf:
            phrases.append(f"one more step would save {self.kkt:.1e} of its duration")
        if not self.hamiltonian <= RMS_HAMILTONIAN_TOLERANCE:
            phrases.append(f"the root mean square of its Hamiltonian is {self.hamiltonian:.1e}")
        return phrases

    @property
    def holds(self) -> bool:
        """Whether no limit is exceeded and all residuals are within their tolerances."""
        return not self.failures

    @property
    def numbers(self) -> dict[str, float]:
        """Residuals by name."""
        return {
            "gap": self.gap,
            "kkt": self.kkt,
            "hamiltonian": self.hamiltonian,
            "load": self.load,
        }
