"""Findings of the study of Fan (2003): tables, charts and their presentation."""

from __future__ import annotations

import itertools
import json
import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manip_dyn.core.checks import Vector
from manip_dyn.studies.fan2003.backup import BackupRow
from manip_dyn.studies.fan2003.decoupled import DecoupledRow
from manip_dyn.studies.fan2003.motions import CaseFindings, PeakRow, Row, Trace, Value, half_unit
from manip_dyn.studies.fan2003.musn import MusnRow
from manip_dyn.studies.fan2003.replay import Controlled, Literal, Spread
from manip_dyn.studies.fan2003.statements import SettlingRow
from manip_dyn.studies.report.charts import Chart, Line, Panel
from manip_dyn.studies.report.claims import Claim, claims_content, claims_table, claims_text
from manip_dyn.studies.report.findings import Findings
from manip_dyn.studies.report.tables import WIDTH, Table, cell, columns, table_of

PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))
CLAIM_COLUMNS = {
    name: name
    for name in (
        *("key", "measure", "number", "least", "most", "cases", "share", "verdict"),
        *("holds", "exceptions"),
    )
} | {"share": "fraction"}
HEAD = ("", "published", "computed", "difference", "status")


@dataclass(frozen=True)
class Fan2003(Findings):
    """Findings of the study of Fan (2003).

    Attributes:
        setting: Commit, processor and versions of the run.
        cases: Findings for each table or motion of a section.
        decoupled: Quantities of sections 3.1.3 and 3.2.
        charts: Figures of section 3.2.
        backups: Disturbed executions with both controllers.
        shooting: Results of shooting from the printed guesses.
        settling: Settling times under PD control.
        claims: Claims of the thesis with verdicts.
    """

    paper = "fan2003"
    published = PUBLISHED
    inputs = tuple(
        f"urdf/{name}"
        for name in (
            *("cylindrical.urdf", "one_link_horizontal.urdf", "one_link_vertical.urdf"),
            *("one_link_vertical.yaml", "ibm7535.urdf", "ibm7535.yaml"),
        )
    )

    cases: tuple[CaseFindings, ...] = ()
    decoupled: tuple[DecoupledRow, ...] = ()
    charts: tuple[Chart, ...] = ()
    backups: tuple[BackupRow, ...] = ()
    shooting: tuple[MusnRow, ...] = ()
    settling: tuple[SettlingRow, ...] = ()
    claims: tuple[Claim, ...] = ()

    def paragraphs(self) -> Iterable[str]:
        """Yield the cases, the tables and the claims as paragraphs of text."""
        yield from map(_case_text, self.cases)
        for table in self._across():
            yield table.text(lambda value: cell(value, 5))
        if self.claims:
            yield claims_text("claims", self.claims, PUBLISHED["claims"])

    def values(self) -> dict[str, Any]:
        """Return the findings as values for JSON."""
        cases = {case.name: _case_content(case) for case in self.cases}
        return {
            "tables": {name: content for name, content in cases.items() if name[0] in "56"},
            "sections": {name: content for name, content in cases.items() if name[0] not in "56"},
            "decoupled": [row._asdict() for row in self.decoupled],
            "backup": [row._asdict() for row in self.backups],
            "musn": [row._asdict() for row in self.shooting],
            "settling": [row._asdict() for row in self.settling],
            "across": [table.content() for table in case_tables(self.cases)],
            "claims": claims_content(self.claims, CLAIM_COLUMNS, PUBLISHED["claims"]),
        }

    def csv_tables(self) -> Iterable[Table]:
        """Yield all tables: results, notes, tables over all cases, motions, charts and claims."""
        rows = tuple((case.name, *row) for case in self.cases for row in case.rows)
        yield Table("results", "Published and computed values", ("case", *Row._fields), rows)
        notes = tuple((case.name, case.status, case.note) for case in self.cases)
        yield Table("notes", "Verdicts", ("case", "status", "note"), notes)
        yield from self._across()
        for case in self.cases:
            yield _motion_table(case)
            yield _work_table(case)
        yield from (chart.table() for chart in self.charts)
        if self.claims:
            yield claims_table(self.claims, CLAIM_COLUMNS)

    def page_tables(self) -> Iterable[Table]:
        """Yield the tables over all cases, and the tables of results and notes."""
        yield from self._across()
        yield from itertools.islice(self.csv_tables(), 2)

    def pictures(self) -> Iterable[Chart]:
        """Yield the charts of section 3.2 and of each case."""
        yield from self.charts
        yield from (chart for case in self.cases for chart in case_charts(case, file_stem(case)))

    def _across(self) -> Iterable[Table]:
        """Yield the tables over all cases, of section 3.1.3 and of the PD backup."""
        yield from case_tables(self.cases)
        if self.decoupled:
            title = "Decoupled links and one switch, by the thesis's formulas and computed"
            yield table_of("decoupled", title, self.decoupled)
        if self.backups:
            title = (
                "Recovery after a plan misses the goal: return motions and the thesis's PD backup"
            )
            head = (
                *("case", "disturbed", "controller", "planned, s", "settled, s"),
                *("distance from the goal, rad", "status"),
            )
            yield Table("backup", title, head, tuple(tuple(row) for row in self.backups))
        if self.shooting:
            title = "Shooting from the guesses for MUSN (appendices A.3, A.5, A.8)"
            yield table_of("musn", title, self.shooting)._replace(digits=7)
        if self.settling:
            title = "PD control: the thesis's gains and gains from a search"
            yield table_of("settling", title, self.settling)._replace(digits=4)


def file_stem(case: CaseFindings) -> str:
    """Return the prefix of the file names of a case, such as ``5_3`` or ``4_1_case_1``."""
    return case.name.replace(".", "_").replace(" ", "_")


# --------------------------------------------------------------------------- text
def _case_text(case: CaseFindings) -> str:
    start = ", ".join(f"{value:.4g}" for value in case.start)
    lines = [f"{_title(case)}: {case.arm} from ({start}) to zero; {case.status}"]
    rows: list[Sequence[str]] = []
    for column in dict.fromkeys(row.column for row in case.rows):
        rows.append((column, "", "", "", ""))
        for row in (item for item in case.rows if item.column == column):
            rows.append((f"  {row.quantity}", *_cells(row)))
    lines.append(columns([HEAD, *rows]))
    proof = case.minimum_time.certificate
    lines.append(
        f"  certificate {'holds' if proof['holds'] else 'does not hold'}: boundary "
        f"{proof['boundary']:.1e}, Hamiltonian {proof['hamiltonian']:.1e}, margin "
        f"{proof['margin']:.1e}"
    )
    lines += textwrap.wrap(case.note, WIDTH, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(lines)


def _title(case: CaseFindings) -> str:
    return f"{'Table' if case.name[0] in '56' else 'Section'} {case.name}"


def _cells(row: Row) -> tuple[str, str, str, str]:
    difference = "-" if row.difference is None else f"{row.difference:+.5f}"
    return _shown(row.published, 4), _shown(row.computed, 5), difference, row.status


def _shown(value: Value, digits: int) -> str:
    if value is None:
        return "-"
    if isinstance(value, tuple):
        return " ".join(f"{number:.4f}" for number in value)
    return f"{value:.{digits}f}"


# --------------------------------------------------------------------------- JSON
def _case_content(case: CaseFindings) -> dict[str, Any]:
    return {
        "arm": case.arm,
        "joints": case.joints,
        "start": case.start,
        "goal": [0.0] * len(case.joints),
        "zero_net_work": case.zero_net_work._asdict(),
        "zero_net_work_as_published": case.as_published._asdict() | {"grid_search": case.grid},
        "minimum_time": case.minimum_time._asdict(),
        "pd": None if case.pd is None else case.pd._asdict(),
        "published": case.published,
        "rows": [row._asdict() for row in case.rows],
        "replay_of_published": {
            "switching_positions": _controlled_content(case.controlled),
            "exact_switching_positions": _controlled_content(case.controlled_exactly),
            "switching_times": _printed_content(case),
            "literal_laws": _literal_content(case.literal, case.spread),
            "literal_laws_tested_again": _literal_content(case.tested_again, None),
        },
        "full_grid_search": case.full_grid,
        "peak_work": [row._asdict() for row in case.peaks],
        "planning_seconds": case.cost,
        "status": case.status,
        "note": case.note,
    }


def _controlled_content(run: Controlled | None) -> dict[str, Any] | None:
    if run is None:
        return None
    keys = ("arrived", "q_switch", "t_switch", "t_arrival", "t_end", "miss")
    return {key: getattr(run, key) for key in keys}


def _literal_content(run: Literal | None, spread: Spread | None) -> dict[str, Any] | None:
    if run is None:
        return None
    keys = ("arrived", "together", "t_arrival", "t_end", "drift", "at_end", "speed")
    content = {key: getattr(run, key) for key in keys}
    return content if spread is None else content | {"spread": spread._asdict()}


def _printed_content(case: CaseFindings) -> dict[str, Any] | None:
    if case.printed is None:
        return None
    return case.printed._asdict() | {"is_solution": case.printed.is_solution}


# -------------------------------------------------------------------------- files
def _motion_table(case: CaseFindings) -> Table:
    heads = (f"{what}_{name}" for what in ("q", "v", "tau") for name in case.joints)
    rows = tuple(
        (trace.label, t, *trace.q[k], *trace.v[k], *trace.tau[k])
        for trace in case.traces
        for k, t in enumerate(trace.time)
    )
    return Table(f"{file_stem(case)}_motion", "motions", ("method", "time", *heads), rows)


def _work_table(case: CaseFindings) -> Table:
    links = (f"work_link_{i + 1}" for i in range(len(case.joints)))
    rows = tuple(
        (trace.label, t, *trace.work[k])
        for trace in case.traces
        for k, t in enumerate(trace.work_time)
    )
    return Table(f"{file_stem(case)}_work", "work on links", ("method", "time", *links), rows)


Cases = Sequence[CaseFindings]


# ----------------------------------------------------------------------- tables of all cases
def final_times(cases: Cases) -> Table:
    """Return a table of the published and computed final times of every case."""
    head = (
        "case",
        "zero net work: printed",
        "by the thesis's rule",
        "exact",
        "minimum time: printed",
        "certified",
        "unique",
        "status",
    )
    rows = tuple(
        (
            case.name,
            tuple(t for t in case.published["zero_net_work"].get("t_final", ()) if t),
            _moving(case, case.as_published.arrival_times),
            _moving(case, case.zero_net_work.arrival_times),
            case.published["minimum_time"]["t_final"],
            case.minimum_time.t_final,
            case.minimum_time.unique,
            case.status,
        )
        for case in cases
    )
    return Table("final_times", "Final times, s", head, rows, digits=6)


def controllers(cases: Cases) -> Table:
    """Return a table of motions with the printed switching positions.

    A joint that arrives early moves with zero acceleration, or under the literal holding laws of
    the thesis.
    """
    head = (
        "case",
        "printed, s",
        "zero acceleration, s",
        "distance left, rad or m",
        "literal law (A.4, A.7), s",
        "drift, rad or m",
        "repeated test (A.10), s",
        "range of arrivals, s",
        "variations that arrive",
        "status",
    )
    rows = tuple(_controllers_row(case) for case in cases if case.literal is not None)
    title = "The printed switching positions: when the last joint arrives, largest drift (rad, m)"
    return Table("controllers", title, head, rows, digits=5)


def _controllers_row(case: CaseFindings) -> tuple[object, ...]:
    held, free, again, spread = case.controlled, case.literal, case.tested_again, case.spread
    assert held is not None
    assert free is not None
    assert again is not None
    assert spread is not None
    last = max(t for t in case.published["zero_net_work"]["t_final"] if t is not None)
    if spread.arrived == 0 and not free.arrived:
        status = "does not arrive"
    elif spread.covers(last, half_unit(case.published)):
        status = "arrives, at the printed time for some digits"
    else:
        status = "arrives, not at the printed time"
    return (
        case.name,
        last,
        held.t_end if held.arrived else None,
        None if held.arrived else held.miss,
        _arrival(free),
        float(free.drift.max()) if free.arrived else None,
        _arrival(again),
        (spread.earliest, spread.latest) if spread.arrived else None,
        f"{spread.arrived} of {spread.runs}",
        status,
    )


def _arrival(run: Literal) -> float | None:
    return float(run.t_arrival.max()) if run.arrived else None


def grids(cases: Cases) -> Table:
    """Return a table of grid searches over the whole grid and around the exact positions."""
    head = ("case", "grid", "found", "trials", "step", "arrival, s", "printed, s", "CPU s")
    rows = []
    for case in cases:
        last = max((t for t in case.published["zero_net_work"].get("t_final", ()) if t), default=0)
        for name, grid in (("whole", case.full_grid), ("around the exact", case.grid)):
            if grid is not None:
                arrival = max(grid["arrival_times"]) if grid["found"] else None
                cells = (grid["found"], grid["trials"], grid["step"], arrival, last)
                rows.append((case.name, name, *cells, grid["seconds"]))
    title = "The thesis's grid search (appendices A.4, A.7)"
    return Table("grids", title, head, tuple(rows), timed=("CPU s",), digits=5)


def peak_works(cases: Cases) -> Table:
    """Return a table of the peak work on each link in all zero-net-work motions."""
    rows = tuple(tuple(row) for case in cases for row in case.peaks)
    return Table("peak_work", "Peak work on each link, J", PeakRow._fields, rows)


def planning_cost(cases: Cases) -> Table:
    """Return a table of the computing times of the planners."""
    head = ("case", "zero net work, CPU s", "minimum time, CPU s")
    rows = tuple(
        (case.name, case.cost["zero net work"], case.cost["minimum time"]) for case in cases
    )
    return Table("planning_cost", "Planning, all compiled", head, rows, timed=head[1:])


def case_tables(cases: Cases) -> Iterable[Table]:
    """Return the non-empty tables over all cases."""
    functions = (final_times, controllers, grids, peak_works, planning_cost)
    return (table for table in (make(cases) for make in functions) if table.rows)


def _moving(case: CaseFindings, times: Sequence[float] | Vector) -> tuple[float, ...]:
    moving = zip(times, case.start, strict=True)
    return tuple(t for t, start in moving if start != 0.0 and math.isfinite(t))


# ------------------------------------------------------------------------------------ charts
STYLES = {"zero net work": (0, "-"), "minimum time": (3, "--"), "PD": (2, "-.")}
TIME = "time [s]"


def case_charts(case: CaseFindings, stem: str) -> Iterable[Chart]:
    """Yield the charts of a case, with names that start with `stem`."""
    plans = [trace for trace in case.traces if trace.label != "PD"]
    yield _motion(case, plans, f"{stem}_motion", switching=True)
    yield _work(case, plans, f"{stem}_work")
    if len(case.joints) == 1:
        yield _costates(case, f"{stem}_costates")
    if len(plans) < len(case.traces):
        yield _motion(case, case.traces, f"{stem}_pd", switching=False)


def _motion(case: CaseFindings, traces: Sequence[Trace], name: str, switching: bool) -> Chart:
    """Return a chart with one column per joint.

    The rows are positions, velocities, efforts and, with `switching`, switching functions.
    """
    joints = range(len(case.joints))
    rows = [
        [
            _panel(case.joints[i], f"position [{case.units[i]}]", _lines(traces, "q", i))
            for i in joints
        ],
        [_panel("", f"velocity [{case.units[i]}/s]", _lines(traces, "v", i)) for i in joints],
        [_panel("", f"effort [{case.effort_units[i]}]", _lines(traces, "tau", i)) for i in joints],
    ]
    if switching:
        rows.append([_switching(case, i) for i in joints])
    panels = tuple(panel for row in rows for panel in row)
    height = 2.0 * len(rows) + 0.8
    return _chart(case, name, "positions, velocities, efforts", panels, height)


def _costates(case: CaseFindings, name: str) -> Chart:
    """Return a chart of the minimum-time costates (figures 3.4, 4.13 and 4.19)."""
    times, values = case.costates
    labels = ("of the position", "of the velocity")
    lines = tuple(
        Line(labels[k], _floats(times), _floats(values[:, k]), k, "--" if k else "-")
        for k in range(2)
    )
    panel = _panel("", "costates [s/rad, s²/rad]", lines)
    return _chart(case, name, "costates of the minimum-time motion", (panel,), 3.6)


def _work(case: CaseFindings, traces: Sequence[Trace], name: str) -> Chart:
    """Return a chart of the work on each link, with one column per link."""
    panels = tuple(
        _panel(
            f"link {i + 1}",
            "work [J]",
            tuple(_line(trace, trace.work_time, trace.work[:, i]) for trace in traces),
        )
        for i in range(len(case.joints))
    )
    return _chart(case, name, "work on each link", panels, 3.6)


def _switching(case: CaseFindings, joint: int) -> Panel:
    """Return a panel with the switching function of a joint's effort and a zero line."""
    times, functions = case.switching
    color, style = STYLES["minimum time"]
    unit = case.effort_units[joint]
    label = f"switching function [1/{unit if unit == 'N' else '(N m)'}]"
    zero = Line("", (float(times[0]), float(times[-1])), (0.0, 0.0), None)
    curve = Line("", _floats(times), _floats(functions[:, joint]), color, style)
    return _panel("", label, (curve, zero))


def _lines(traces: Sequence[Trace], quantity: str, joint: int) -> tuple[Line, ...]:
    lines = []
    for trace in traces:
        # The last effort of a plan holds the arm at its goal.
        end = -1 if quantity == "tau" and trace.label != "PD" else len(trace.time)
        lines.append(_line(trace, trace.time[:end], getattr(trace, quantity)[:end, joint]))
    return tuple(lines)


def _line(trace: Trace, x: Vector, y: Vector) -> Line:
    return Line(trace.label, _floats(x), _floats(y), *STYLES[trace.label])


def _panel(title: str, label: str, lines: tuple[Line, ...]) -> Panel:
    return Panel(title, TIME, label, lines)


def _chart(
    case: CaseFindings, name: str, what: str, panels: tuple[Panel, ...], height: float
) -> Chart:
    n = len(case.joints)
    kind = "table" if case.name[0] in "56" else "section"
    title = f"Fan (2003), {kind} {case.name}: {what}"
    return Chart(name, title, panels, n, (4.6 * max(n, 1.3), height))


def _floats(values: Vector) -> tuple[float, ...]:
    return tuple(map(float, values))
