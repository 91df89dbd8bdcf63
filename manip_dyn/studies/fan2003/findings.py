"""What the study of fan2003 finds, and how it is told."""

from __future__ import annotations

import itertools
import json
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from manip_dyn.studies.fan2003.backup import BackupRow
from manip_dyn.studies.fan2003.cases import CaseFindings, Row, Value
from manip_dyn.studies.fan2003.charts import case_charts
from manip_dyn.studies.fan2003.decoupled import DecoupledRow
from manip_dyn.studies.fan2003.literal import Literal, Spread
from manip_dyn.studies.fan2003.replay import Controlled
from manip_dyn.studies.fan2003.tables import case_tables
from manip_dyn.studies.report.charts import Chart
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
}
HEAD = ("", "published", "computed", "difference", "status")


@dataclass(frozen=True)
class Fan2003(Findings):
    """What the study found.

    Attributes:
        setting: Commit, processor, versions.
        cases: One per table or motion of a section.
        decoupled: Numbers of sections 3.1.3 and 3.2.
        charts: Figures of section 3.2.
        backups: Disturbed executions with both controllers.
        claims: The claims.
    """

    paper = "fan2003"
    published = PUBLISHED

    cases: tuple[CaseFindings, ...] = ()
    decoupled: tuple[DecoupledRow, ...] = ()
    charts: tuple[Chart, ...] = ()
    backups: tuple[BackupRow, ...] = ()
    claims: tuple[Claim, ...] = ()

    def paragraphs(self) -> Iterable[str]:
        """Return the tables, published beside computed."""
        yield from map(_case_text, self.cases)
        for table in self._across():
            yield table.text(lambda value: cell(value, 5))
        if self.claims:
            yield claims_text("claims", self.claims, PUBLISHED["claims"])

    def values(self) -> dict[str, Any]:
        """Return everything for JSON."""
        cases = {case.name: _case_content(case) for case in self.cases}
        return {
            "tables": {name: each for name, each in cases.items() if name[0] in "56"},
            "sections": {name: each for name, each in cases.items() if name[0] not in "56"},
            "decoupled": [row._asdict() for row in self.decoupled],
            "backup": [row._asdict() for row in self.backups],
            "across": [table.content() for table in case_tables(self.cases)],
            "claims": claims_content(self.claims, CLAIM_COLUMNS, PUBLISHED["claims"]),
        }

    def csv_tables(self) -> Iterable[Table]:
        """Return results, notes, and each case's motions and work."""
        rows = tuple((case.name, *row) for case in self.cases for row in case.rows)
        yield Table("results", "published beside computed", ("case", *Row._fields), rows)
        notes = tuple((case.name, case.status, case.note) for case in self.cases)
        yield Table("notes", "verdicts", ("case", "status", "note"), notes)
        yield from self._across()
        for case in self.cases:
            yield _motion_table(case)
            yield _work_table(case)
        yield from (chart.table() for chart in self.charts)
        if self.claims:
            yield claims_table(self.claims, CLAIM_COLUMNS)

    def page_tables(self) -> Iterable[Table]:
        """Return final times, controllers, searches, works, all rows, and notes."""
        yield from self._across()
        yield from itertools.islice(self.csv_tables(), 2)

    def pictures(self) -> Iterable[Chart]:
        """Return the charts of section 3.2 and each case's."""
        yield from self.charts
        yield from (chart for case in self.cases for chart in case_charts(case, file_stem(case)))

    def _across(self) -> Iterable[Table]:
        """Return the tables of all cases, and of section 3.1.3."""
        yield from case_tables(self.cases)
        if self.decoupled:
            title = "Decoupled links and one switch: by the thesis's formulas, and computed"
            yield table_of("decoupled", title, self.decoupled)
        if self.backups:
            title = "Where the plan misses: our new motions and the thesis's PD backup"
            yield table_of("backup", title, self.backups)


def file_stem(case: CaseFindings) -> str:
    """Return what the files of a case begin with: ``5_3``, ``4_1_case_1``."""
    return case.name.replace(".", "_").replace(" ", "_")


# ------------------------------------------------------------------------- people
def _case_text(case: CaseFindings) -> str:
    start = ", ".join(f"{value:.4g}" for value in case.start)
    lines = [f"{_title(case)}: {case.arm} from ({start}) to zero; {case.status}"]
    rows: list[Sequence[str]] = []
    for column in dict.fromkeys(row.column for row in case.rows):
        rows.append((column, "", "", "", ""))
        for row in (each for each in case.rows if each.column == column):
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
        return " ".join(f"{each:.4f}" for each in value)
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
            "literal_laws_asked_again": _literal_content(case.asked_again, None),
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
        (each.label, t, *each.q[k], *each.v[k], *each.tau[k])
        for each in case.traces
        for k, t in enumerate(each.time)
    )
    return Table(f"{file_stem(case)}_motion", "motions", ("method", "time", *heads), rows)


def _work_table(case: CaseFindings) -> Table:
    links = (f"work_link_{i + 1}" for i in range(len(case.joints)))
    rows = tuple(
        (each.label, t, *each.work[k])
        for each in case.traces
        for k, t in enumerate(each.work_time)
    )
    return Table(f"{file_stem(case)}_work", "work on links", ("method", "time", *links), rows)
