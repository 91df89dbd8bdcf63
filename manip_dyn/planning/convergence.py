"""The certificate of a motion that was refined on grids: numbers for how nearly it is fastest."""

from __future__ import annotations

from dataclasses import dataclass, field

from manip_dyn.core.checks import Matrix, Vector

GAP, KKT, HAMILTONIAN, LOAD = 1e-3, 1e-6, 2e-2, 1.0 + 1e-9


@dataclass(frozen=True)
class GridSearched:
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
    searched: GridSearched

    @property
    def failures(self) -> list[str]:
        """What does not hold, one phrase each; empty for a motion that has converged."""
        found = [self.passed] if self.passed else []
        if not self.load <= LOAD:
            found.append(f"an effort reaches {self.load:.9g} times its limit")
        if not self.gap <= GAP * self.t_final:
            found.append(f"motions near it may be faster by {self.gap:.2g} s")
        if not self.kkt <= KKT:
            found.append(f"one more step was to save {self.kkt:.1e} of its duration")
        if not self.hamiltonian <= HAMILTONIAN:
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
