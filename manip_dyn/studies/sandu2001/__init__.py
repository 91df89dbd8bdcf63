"""Study of Sandu et al. (2001): Tables 1 to 4, Figures 2 and 5, and parameters left open.

Tables 1 and 2 are errors for the stiff double pendulum; `fit` tests whether the pendulum is that
of the paper. Tables 3 and 4 are computing times for the HMMWV with an explicit method and with the
Rosenbrock-Nystrom method. Figure 2 shows the pendulum, and figure 5 the car. Additional items are
the W-method that the paper suggests, and a second mechanism with fully published data. The claims
in the text are judged by all these results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from manip_dyn.bench.timing import setting
from manip_dyn.core.checks import Vector
from manip_dyn.multibody.simulation import MechanismMotion
from manip_dyn.studies.report.charts import Chart, Line, Panel
from manip_dyn.studies.report.claims import Claim
from manip_dyn.studies.sandu2001 import (
    car,
    car_claims,
    coefficients,
    pendulum,
    pendulum_claims,
    repartition,
    squeezer,
)
from manip_dyn.studies.sandu2001.findings import (
    PUBLISHED,
    ErrorRow,
    FitRow,
    LeadRow,
    MatrixRow,
    Point,
    RepartitionRow,
    Sandu2001,
    TimeRow,
)
from manip_dyn.studies.sandu2001.pendulum import RUNS, Run, errors, fit, options, reference, run
from manip_dyn.studies.sandu2001.settings import Settings, shipped

__all__ = [
    "ErrorRow",
    "FitRow",
    "ITEMS",
    "LeadRow",
    "MatrixRow",
    "PUBLISHED",
    "Point",
    "RepartitionRow",
    "Run",
    "Sandu2001",
    "Settings",
    "TOLERANCES",
    "TimeRow",
    "car",
    "car_claims",
    "coefficients",
    "errors",
    "pendulum",
    "pendulum_claims",
    "recompute",
    "reference",
    "repartition",
    "squeezer",
]

TOLERANCES = tuple(PUBLISHED["tolerances"])
ITEMS = (
    *("table1", "table2", "fit", "wmethod", "table3", "table4", "growth", "fig2", "fig5"),
    *("squeezer", "repartition", "claims", "all"),
)
EVERYTHING = ("claims", "all")
"""Items that include all other items."""


def recompute(
    item: str = "all",
    progress: Callable[[str], None] = lambda line: None,
    tolerances: tuple[float, ...] = TOLERANCES,
    runs: tuple[str, ...] = tuple(RUNS),
) -> Sandu2001:
    """Recompute an item of the paper and return the findings.

    Args:
        item: One of `ITEMS`; ``"claims"`` includes all other items.
        progress: Called with a line of text before each step.
        tolerances: Tolerances of the runs, a subset of `TOLERANCES`.
        runs: Runs to compute, a subset of `RUNS`.
    """
    findings = Sandu2001(dict(setting(("manip_dyn", "numba", "numpy"))))
    settings = shipped()
    if item in ("table1", "table2", *EVERYTHING):
        rows = _error_rows(reference(), tolerances, runs, settings, progress)
        requested = tuple(row for row in rows if item in (row.table, *EVERYTHING))
        findings = replace(findings, errors=requested)
    if item in ("wmethod", *EVERYTHING):
        rows_of_w = pendulum.w_method_rows(reference(), tolerances, progress)
        findings = replace(findings, matrices=tuple(rows_of_w))
    if item in ("fig2", *EVERYTHING):
        findings = replace(findings, charts=(_pendulum_chart(run("joint", 1e-6, {})),))
    if item in ("fit", *EVERYTHING):
        findings = replace(findings, fit=fit(progress).table)
    if item in ("table3", *EVERYTHING):
        findings = replace(
            findings, times=tuple(car.explicit_rows(tolerances, settings, progress))
        )
    if item in ("table4", *EVERYTHING):
        times = (*findings.times, *car.implicit_rows(tolerances, settings, progress))
        growth, leads = tuple(car.growth_rows(times)), tuple(car.leads(times))
        findings = replace(findings, times=times, growth=growth, leads=leads)
    if item in ("growth", *EVERYTHING):
        findings = replace(findings, variants=tuple(car.variant_rows(settings, progress)))
    motions: dict[str, MechanismMotion] = {}
    if item in ("fig5", *EVERYTHING):
        progress("fig5")
        motions = car.motions(settings)
        charts = (*findings.charts, car.chart(motions))
        findings = replace(findings, charts=charts, car=tuple(car.facts(motions)))
    if item in ("squeezer", *EVERYTHING):
        points = tuple(squeezer.points(progress))
        charts = (*findings.charts, _squeezer_chart(points))
        findings = replace(findings, squeezer=points, charts=charts)
    if item in ("repartition", *EVERYTHING):
        findings = replace(findings, repartition=tuple(repartition.rows(progress)))
    if item in EVERYTHING:
        progress("claims")
        findings = replace(findings, claims=_claims(findings, motions, settings))
    return findings


def _claims(
    findings: Sandu2001, motions: dict[str, MechanismMotion], settings: Settings
) -> tuple[Claim, ...]:
    """Return the claims about the coefficients, the pendulum and the car."""
    return (
        *coefficients.claims(),
        *pendulum_claims.claims(
            findings.errors, findings.matrices, findings.fit, findings.squeezer
        ),
        *pendulum_claims.motion_claims(reference()),
        *repartition.claims(findings.repartition),
        *car_claims.claims(findings.times, findings.leads, motions),
        *car_claims.car_claims(settings.explicit_duration / 50),
    )


def _error_rows(
    exact: Run,
    tolerances: tuple[float, ...],
    runs: tuple[str, ...],
    settings: Settings,
    progress: Callable[[str], None],
) -> list[ErrorRow]:
    rows = []
    for name in runs:
        coordinates, kind = RUNS[name]
        for tolerance in tolerances:
            progress(f"pendulum, {name}, {tolerance:g}")
            k = TOLERANCES.index(tolerance)
            both = errors(run(coordinates, tolerance, options(kind, settings)), exact)
            for table, about, error in zip(
                ("table1", "table2"), ("position", "velocity"), both, strict=True
            ):
                most = PUBLISHED[about][k]
                misprint = about == "position" and k < pendulum.MISPRINTED
                corrected, mean = most / 10.0 if misprint else most, PUBLISHED[f"{about}_mean"][k]
                rows.append(
                    ErrorRow(
                        table=table,
                        run=name,
                        tolerance=tolerance,
                        published_max=most,
                        corrected_max=corrected,
                        max_error=error.largest,
                        published_at_s=PUBLISHED[f"{about}_at"][k],
                        at_s=error.at,
                        published_rel_percent=PUBLISHED[f"{about}_rel"][k],
                        rel_percent=100.0 * error.largest / abs(error.value),
                        published_mean=mean,
                        mean_error=error.mean,
                        mean_status=_status(error.mean, mean),
                        steps=error.steps,
                        status=_status(error.largest, corrected),
                    )
                )
    return sorted(rows, key=lambda row: row.table)


def _status(error: float, published: float) -> str:
    return "not above" if error <= published else "above"


def _pendulum_chart(motion: Run) -> Chart:
    """Return the chart of figure 2."""
    labels = ("angle [rad]", "rate [rad/s]")
    panels = tuple(
        Panel(title, "time [s]", label, (_line(motion.t, motion.states[:, i]),))
        for i, (title, label) in enumerate(
            zip(("angle of body 1", "its rate"), labels, strict=True)
        )
    )
    return Chart("sandu2001_fig2", "Figure 2: the stiff double pendulum", panels, 2, (10.0, 4.2))


def _squeezer_chart(points: tuple[squeezer.Point, ...]) -> Chart:
    """Return a chart of errors over computing time and over evaluations."""
    panels = []
    for title, label, name in (
        ("CPU time; the peers call Python", "time [s]", "seconds"),
        ("evaluations", "evaluations", "evaluations"),
    ):
        lines = []
        for color, solver in enumerate(dict.fromkeys(point.solver for point in points)):
            mine = [point for point in points if point.solver == solver]
            x = tuple(float(getattr(point, name)) for point in mine)
            lines.append(Line(solver, x, tuple(point.error for point in mine), color, "-o"))
        panels.append(
            Panel(title, label, "error of the angles [rad]", tuple(lines), log_x=True, log_y=True)
        )
    title = "Andrews' squeezing mechanism, 0.03 s"
    return Chart("sandu2001_squeezer_work", title, tuple(panels), 2, (11.0, 4.6))


def _line(t: Vector, values: Vector) -> Line:
    return Line("", tuple(t.tolist()), tuple(values.tolist()))
