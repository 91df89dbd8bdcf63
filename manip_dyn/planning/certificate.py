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
"""Efforts between limits may reach a limit, up to rounding."""


@dataclass(frozen=True)
class SearchSummary:
    """Extent of the search that preceded a plan.

    Attributes:
        guesses: Initial guesses on a grid: the straight path and detours.
        motions: Distinct nearly optimal motions on the grid that the guesses led to.
        structures: Switching structures from which Newton's method started.
        extremals: Distinct extremals that arrive within all limits.
        second: Final time of the second-best extremal, s; inf if there is none.
        on_grid: Least duration of a motion on the grid, s. It exceeds the duration of the best
            extremal by the discretization error, or is less if that extremal was not found.
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
        costates: Costates (2 n,) at the start, s per unit of the state: the decrease of the final
            time per unit displacement of the start.
        jumps: Jumps of the costates where a joint leaves a position limit, has a contact point
            with a position or speed limit, reaches a speed limit or leaves it smoothly, or at a
            handover.
        boundary: Largest distance from the goal at rest at the end, in the units of the state.
        distance: Largest distance of a joint between start and goal, rad or m. The tolerance of
            `boundary` scales with short distances.
        hamiltonian: Largest absolute value of H = 1 + p . x' along the motion; 0 in theory.
        margin: Least switching function with the sign of the effort. It is normalized by the
            largest value of the joint and by the fraction of the motion to the joint's nearest
            switch (its slope at a switch; the squared fraction near a singular arc). Below 0 an
            effort has the wrong sign, at 0 a switch is not strict.
        curvature: Least second derivative of the final time along the changes of the switches
            that still arrive, s/s^2; inf without any, as with 2 n - 1 switches.
        singular: Joints with a switching function of zero throughout. The conditions do not
            determine their efforts.
        singular_arcs: Joint, start and end (s) of the arcs on which its effort lies between the
            limits and its switching function is zero.
        singular_effort: Largest effort over its limit on singular and boundary arcs, 0 without
            any.
        singular_switching: Largest switching function there, over the joint's largest.
        limit_arcs: Joint, ``speed`` or ``position``, start and end (s) of the boundary arcs. Start
            and end are equal at a contact point.
        limit_force: Least multiplier of these limits over the largest one; inf without any. It
            must not be negative (Hartl, Sethi, Vickson 1995, theorem 4.1).
        legendre_clebsch: Least decrease of the second rate of the switching function with the
            effort there, times t_final^2 over the largest switching function; inf without any. It
            must be positive (Kelley, Kopp, Moyer 1967).
        searched: Extent of the search, and the second-best extremal.
        times: Sample times (k,), s.
        switching: Switching functions (k, n) at these times.
        hamiltonians: H (k,) at these times.
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
        """Conditions that do not hold, one phrase each; empty for a certified motion."""
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
        """Residuals that apply to every motion, by name."""
        return {
            "boundary": self.boundary,
            "hamiltonian": self.hamiltonian,
            "margin": float(self.margin),
        }

    @property
    def lack(self) -> float:
        """Sum of the violations of margin, efforts and multipliers; 0 if there are none."""
        signs = (self.margin, FULL_EFFORT - self.singular_effort, self.limit_force)
        return -sum(min(sign, 0.0) for sign in signs)

    @property
    def holds(self) -> bool:
        """Whether all conditions are met, strictly."""
        return not self.failures


GAP_TOLERANCE, KKT_TOLERANCE, RMS_HAMILTONIAN_TOLERANCE, LOAD_BOUND = 1e-3, 1e-6, 2e-2, 1.0 + 1e-9


@dataclass(frozen=True)
class GridSearchSummary:
    """Extent of the search on grids that preceded a plan.

    Attributes:
        guesses: Initial guesses: the straight path and detours.
        motions: Distinct motions on the coarse grid that the guesses led to.
        refined: Number of these motions that were compared on the next grid.
        second: Duration of the second-best of these motions, s; inf if there is none.
        best: Duration of the best one, s.
    """

    guesses: int
    motions: int
    refined: int
    second: float
    best: float


@dataclass(frozen=True, eq=False)
class Convergence:
    """Evidence that a motion refined on grids is nearly the fastest of its neighbourhood.

    Attributes:
        gap: Bound on how much faster a nearby motion can be, s, to first order: the contributions
            of the barrier, the finest grid (extrapolated from the last two), one more step, and
            the limits between the nodes.
        t_final: Duration of the motion, s.
        kkt: Predicted decrease of one more Newton step as a fraction of the duration: the residual
            of the Karush-Kuhn-Tucker conditions in the metric of the step.
        hamiltonian: Root mean square of H = 1 + p . x' along the motion; 0 in theory. It is
            computed from differences on the grid and inaccurate for a cell or two at jumps of p_q.
        load: Largest effort over its limit, including times between the nodes.
        durations: Durations of the fastest motions on the last grids, s.
        cells: Cells of the finest grid.
        times: Times of the nodes (k,), s.
        costates: Costates at the nodes (k, 2 n), s per unit of the state.
        switching: Switching functions at the nodes (k, n).
        hamiltonians: H at the nodes (k,).
        passed: Phrase that names an exceeded limit; empty without one.
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
        """Tolerances that are exceeded, one phrase each; empty for a converged motion."""
        phrases = [self.passed] if self.passed else []
        if not self.load <= LOAD_BOUND:
            phrases.append(f"an effort is {self.load:.9g} times its limit")
        if not self.gap <= GAP_TOLERANCE * self.t_final:
            phrases.append(f"motions near it may be faster by {self.gap:.2g} s")
        if not self.kkt <= KKT_TOLERANCE:
            phrases.append(f"one more step would save {self.kkt:.1e} of its duration")
        if not self.hamiltonian <= RMS_HAMILTONIAN_TOLERANCE:
            phrases.append(f"the root mean square of its Hamiltonian is {self.hamiltonian:.1e}")
        return phrases

    @property
    def holds(self) -> bool:
        """Whether all residuals are within their tolerances."""
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
