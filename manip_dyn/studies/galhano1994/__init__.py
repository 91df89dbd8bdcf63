"""Study of Galhano, Machado (1994): Table 1, Figures 2 to 7, and the paper's claims.

Tenreiro Machado, J. A., Galhano, A. M. S. F., Evaluation of manipulator direct dynamics using
customized Runge-Kutta methods (received June 1994). The charts are for the paper's RR arm and the
PA-10; an additional chart shows the energy drift. ``config/galhano1994.yaml`` contains all
choices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from manip_dyn.bench.timing import setting
from manip_dyn.integration import METHODS
from manip_dyn.studies.galhano1994.curves import (
    Curve,
    Figure,
    InitialValueProblem,
    Point,
    evenly_stepped,
    other_coefficients,
    timed_figures,
    untimed_figure,
)
from manip_dyn.studies.galhano1994.findings import (
    PUBLISHED,
    Galhano1994,
    ReferenceRun,
    SafetyRow,
    StageRow,
)
from manip_dyn.studies.galhano1994.settings import FAMILIES, Settings, Start
from manip_dyn.studies.galhano1994.verdicts import (
    at_equal_steps,
    at_equal_times,
    claims,
    custom_claims,
    custom_rows,
    lost_gain,
    lost_in_evaluations,
    plain_right_hand_side,
    shared_stages,
)
from manip_dyn.studies.report.claims import Claim
from manip_dyn.studies.report.settings import read_settings

__all__ = [
    "Curve",
    "FAMILIES",
    "FIGURES",
    "Galhano1994",
    "ITEMS",
    "InitialValueProblem",
    "PUBLISHED",
    "Point",
    "Settings",
    "at_equal_steps",
    "at_equal_times",
    "lost_gain",
    "lost_in_evaluations",
    "plain_right_hand_side",
    "recompute",
    "table1",
]

FIGURES = tuple(PUBLISHED["figures"])
ITEMS = ("table1", *FIGURES, "energy", "customizing", "sigma", "claims", "all")


def table1() -> tuple[StageRow, ...]:
    """Return the rows of Table 1, which lists the number of stages of each method."""
    rows = []
    for name, published in PUBLISHED["stages"].items():
        computed = METHODS[name].stages
        status = "reproduced" if computed == published else "differs"
        rows.append(StageRow(name, published, computed, computed - published, status))
    return tuple(rows)


def recompute(
    item: str = "all",
    settings: Settings | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Galhano1994:
    """Recompute an item of the paper and return the findings.

    Args:
        item: One of `ITEMS`; ``"claims"`` includes all figures.
        settings: Settings of the study. Default: ``config/galhano1994.yaml``.
        progress: Called with a line of text before each step.
    """
    findings = Galhano1994(dict(setting(("manip_dyn", "numba", "numpy"))))
    if item in ("table1", "all"):
        findings = replace(findings, table1=table1())
    names = [name for name in FIGURES if item in (name, "claims", "all")]
    settings = settings or read_settings("galhano1994", Settings)
    for robot in settings.motions if names else ():
        findings = _with_figures(findings, robot, names, settings, progress)
    for robot in settings.motions if item in ("customizing", "claims", "all") else ():
        progress(f"customizing, {robot}")
        rows = custom_rows(_problem(robot, settings.motions[robot], settings), settings)
        findings = replace(findings, customizing=(*findings.customizing, *rows))
    if item in ("claims", "all"):
        customizing = custom_claims(findings.customizing)
        judged = (*findings.claims, *customizing, *shared_stages(settings))
        findings = replace(findings, claims=judged)
    for robot in settings.motions if item in ("sigma", "all") else ():
        progress(f"sigma, {robot}")
        findings = replace(findings, safeties=(*findings.safeties, *_safeties(robot, settings)))
    if item in ("energy", "all"):
        for robot in settings.motions:
            progress(f"energy, {robot}")
            findings = replace(findings, figures=(*findings.figures, _energy(robot, settings)))
    return findings


def _with_figures(
    findings: Galhano1994,
    robot: str,
    names: Sequence[str],
    settings: Settings,
    progress: Callable[[str], None],
) -> Galhano1994:
    """Return the findings with the charts of a robot and, if all are present, its claims."""
    problem = _problem(robot, settings.motions[robot], settings)
    reference = ReferenceRun(robot, problem.reference.statistics.steps, problem.cross_check)
    untimed = []
    for name in names:
        progress(f"{name}, {robot}: errors")
        untimed.append(untimed_figure(name, PUBLISHED["figures"][name], problem, settings))
    progress(f"{', '.join(names)}, {robot}: times")
    figures = timed_figures(untimed, settings)
    judged = list(_claims(problem, figures, settings)) if len(names) == len(FIGURES) else []
    return replace(
        findings,
        references=(*findings.references, reference),
        figures=(*findings.figures, *figures),
        claims=(*findings.claims, *judged),
    )


def _claims(
    problem: InitialValueProblem, figures: Sequence[Figure], settings: Settings
) -> Iterable[Claim]:
    embedded = [curve for figure in figures if figure.name > "fig3" for curve in figure.curves]
    even = [evenly_stepped(problem, curve) for curve in embedded]
    others = other_coefficients(problem, settings)
    return claims(figures, even, others, settings.compared_errors)


def _safeties(robot: str, settings: Settings) -> Iterable[SafetyRow]:
    """Yield the cost of embedded methods for different values of sigma of eq. 14."""
    problem = _problem(robot, settings.motions[robot], settings)
    for name in settings.safety_methods:
        engine = problem.engine(name)
        for sigma in settings.safeties:
            problem.safety = sigma
            points = tuple(
                problem.trial(engine, tol, problem.position_error, atol=tol).point
                for tol in settings.tolerances
            )
            curve = Curve(name, name, 0, points).between(0.0, 1.0)
            tries, failed = (sum(getattr(p, k) for p in points) for k in ("tries", "failures"))
            needed = curve.evaluations_at_error(1e-6)
            yield SafetyRow(robot, name, sigma, needed, failed / tries)


def _energy(robot: str, settings: Settings) -> Figure:
    """Return the chart of the energy drift for the motion without efforts from the same state."""
    start = settings.motions[robot]
    free = _problem(robot, replace(start, efforts=np.zeros_like(start.efforts)), settings)
    (figure,) = timed_figures([untimed_figure("energy", "free motion", free, settings)], settings)
    return figure


def _problem(robot: str, start: Start, settings: Settings) -> InitialValueProblem:
    return InitialValueProblem(
        robot,
        start.state,
        start.efforts,
        start.duration,
        settings.most_steps,
        settings.safety,
    )
