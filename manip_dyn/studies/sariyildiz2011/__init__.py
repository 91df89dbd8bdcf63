"""Study of Sariyildiz et al. (2011): Figures 4 to 18, and the paper's claims.

Sariyildiz, E., Temeltas, H., Performance analysis of numerical integration methods in the
trajectory tracking application of redundant robot manipulators (2011).
``config/sariyildiz2011.yaml`` contains values for the parameters that the paper does not print,
and variations of these values.
"""

from __future__ import annotations

from collections.abc import Callable

from manip_dyn.bench.timing import setting
from manip_dyn.studies.report.charts import Chart
from manip_dyn.studies.report.claims import Claim
from manip_dyn.studies.report.settings import read_settings
from manip_dyn.studies.report.tables import Table
from manip_dyn.studies.sariyildiz2011 import choices, figures
from manip_dyn.studies.sariyildiz2011.figures import evaluations_to
from manip_dyn.studies.sariyildiz2011.findings import PUBLISHED, Sariyildiz2011, claims
from manip_dyn.studies.sariyildiz2011.runs import COARSE, FINE, RISING, Case, Runs, Varied
from manip_dyn.studies.sariyildiz2011.settings import Settings

__all__ = [
    "Case",
    "FIGURES",
    "ITEMS",
    "PUBLISHED",
    "RISING",
    "Runs",
    "SIX",
    "Sariyildiz2011",
    "Settings",
    "claims",
    "evaluations_to",
    "recompute",
]

METHODS: dict[str, str] = PUBLISHED["methods"]
SIX = tuple(METHODS.values())
PRINTED: dict[str, float] = PUBLISHED["position_error_at_100ms_m"]
FIGURES = tuple(f"fig{k}" for k in range(4, 19))
CHOICES = ("gain", "circles", "orders", "choices", "efficiency", "starts")
ITEMS = (*FIGURES, *CHOICES, "claims", "all")


def recompute(
    item: str = "all",
    settings: Settings | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Sariyildiz2011:
    """Recompute an item of the paper and return the findings.

    Args:
        item: One of `ITEMS`.
        settings: Settings of the study. Default: ``config/sariyildiz2011.yaml``.
        progress: Called with a line of text before each step.
    """
    chosen = settings or read_settings("sariyildiz2011", Settings)
    study = _Study(
        Runs(chosen, PUBLISHED["linear_speed_m_s"], PUBLISHED["angular_speed_rad_s"]), progress
    )
    study.add(item)
    return Sariyildiz2011(
        dict(setting(("manip_dyn", "numba", "numpy"))),
        tuple(study.charts),
        tuple(study.tables),
        tuple(study.claims),
    )


class _Study:
    """Collects the requested items. Runs, costs and variations are computed only once."""

    def __init__(self, runs: Runs, progress: Callable[[str], None]):
        self._runs, self._progress = runs, progress
        self._costs: dict[str, figures.Cost] = {}
        self._varied: list[Varied] = []
        self.charts: list[Chart] = []
        self.tables: list[Table] = []
        self.claims: list[Claim] = []

    def add(self, item: str) -> None:
        """Compute an item and add its charts, tables and claims."""
        if item == "all":
            for name in ITEMS[:-1]:
                self.add(name)
            self.tables += self._figure_tables()
            return
        self._progress(item)
        if item in FIGURES:
            self.charts.append(self._figure(item))
        elif item == "gain":
            self.charts.append(choices.gain_chart(self._runs, SIX))
            self.tables.append(choices.gain_table(self._runs, SIX))
        elif item == "circles":
            self.charts.append(choices.circles_chart(self._runs, SIX, PRINTED))
            self.tables.append(choices.circles_table(self._runs, SIX))
        elif item == "orders":
            chart, table = choices.orders(self._runs, SIX)
            self.charts.append(chart)
            self.tables.append(table)
        elif item == "efficiency":
            self.charts.append(figures.efficiency_chart(self._runs, SIX))
            self.tables.append(figures.efficiency_table(self._runs, SIX))
        elif item == "starts":
            self.tables.append(figures.start_table(self._runs))
        elif item == "choices":
            self.tables.append(choices.choices_table(self._variations()))
        else:
            singular = figures.singular_cases(self._runs, SIX)
            seconds = {method: cost.seconds for method, cost in self._cost().items()}
            counted = {method: cost.evaluations for method, cost in self._cost().items()}
            self.claims += claims(
                self._variations(),
                seconds,
                singular,
                PRINTED,
                counted,
                {target: figures.cheaper(self._runs, target) for target in figures.TARGETS},
                {step: figures.low_starts(self._runs, step) for step in (COARSE, FINE)},
                figures.smoothness(self._runs),
            )

    def _figure(self, name: str) -> Chart:
        if name in METHODS:
            return figures.error_chart(name, METHODS[name], PUBLISHED["sampling_s"], self._runs)
        if name in ("fig7", "fig8"):
            return figures.cost_chart(name, self._cost())
        if name in ("fig4", "fig5", "fig6"):
            return figures.path_chart(name, self._runs)
        return figures.singular_chart(name, self._runs)

    def _figure_tables(self) -> list[Table]:
        """Return tables of the numbers in Figures 7 to 18."""
        return [
            figures.cost_table(self._cost()),
            figures.error_table(SIX, PUBLISHED["sampling_s"], self._runs),
            figures.singular_table(figures.singular_cases(self._runs, SIX)),
        ]

    def _cost(self) -> dict[str, figures.Cost]:
        self._costs = self._costs or figures.costs(self._runs, SIX)
        return self._costs

    def _variations(self) -> list[Varied]:
        self._varied = self._varied or choices.varied(self._runs, SIX)
        return self._varied
