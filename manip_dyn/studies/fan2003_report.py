"""What `study fan2003` says: text for people, plain values for JSON, CSV files."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manip_dyn.studies.fan2003_findings import CaseFindings, Findings, Row, Value
from manip_dyn.studies.fan2003_replay import Controlled
from manip_dyn.studies.plain_text import columns
from manip_dyn.studies.plain_values import plain, write_csv

WIDTH = 99
HEAD = ("", "published", "computed", "difference", "status")


def file_stem(case: CaseFindings) -> str:
    """Return what the files of a case begin with: ``5_3``, ``4_1_case_1``."""
    return case.name.replace(".", "_").replace(" ", "_")


# ------------------------------------------------------------------------- people
def text(found: Findings) -> str:
    """Return the tables, published beside computed."""
    head = ", ".join(f"{key} {value}" for key, value in found.setting.items())
    return "\n\n".join([head, *(_case_text(case) for case in found.cases)])


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
def content(found: Findings, source: str) -> dict[str, Any]:
    """Return everything as plain values; what is not finite is None."""
    cases = {case.name: _case_content(case) for case in found.cases}
    return plain(
        {
            "paper": "fan2003",
            "source": source,
            "setting": found.setting,
            "tables": {name: each for name, each in cases.items() if name[0] in "56"},
            "sections": {name: each for name, each in cases.items() if name[0] not in "56"},
        }
    )


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
        },
        "status": case.status,
        "note": case.note,
    }


def _controlled_content(run: Controlled | None) -> dict[str, Any] | None:
    if run is None:
        return None
    keys = ("arrived", "q_switch", "t_switch", "t_arrival", "t_end", "miss")
    return {key: getattr(run, key) for key in keys}


def _printed_content(case: CaseFindings) -> dict[str, Any] | None:
    if case.printed is None:
        return None
    return case.printed._asdict() | {"is_solution": case.printed.is_solution}


# -------------------------------------------------------------------------- files
def write_tables(found: Findings, folder: Path) -> list[Path]:
    """Write ``results.csv`` and each case's motions and work as CSV; return the files."""
    rows = [
        (case.name, *(_cell(each) for each in row)) for case in found.cases for row in case.rows
    ]
    files = [write_csv(folder / "results.csv", ("case", *Row._fields), rows)]
    verdicts = [(case.name, case.status, case.note) for case in found.cases]
    files.append(write_csv(folder / "notes.csv", ("case", "status", "note"), verdicts))
    for case in found.cases:
        heads = [f"{what}_{name}" for what in ("q", "v", "tau") for name in case.joints]
        motion = [
            (each.label, t, *each.q[k], *each.v[k], *each.tau[k])
            for each in case.traces
            for k, t in enumerate(each.time)
        ]
        work = [
            (each.label, t, *each.work[k])
            for each in case.traces
            for k, t in enumerate(each.work_time)
        ]
        stem = file_stem(case)
        files.append(write_csv(folder / f"{stem}_motion.csv", ("method", "time", *heads), motion))
        links = [f"work_link_{i + 1}" for i in range(len(case.joints))]
        files.append(write_csv(folder / f"{stem}_work.csv", ("method", "time", *links), work))
    return files


def _cell(value: Any) -> Any:
    return " ".join(map(str, value)) if isinstance(value, tuple) else value
