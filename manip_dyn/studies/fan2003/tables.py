"""Tables of all cases of fan2003: final times, controllers, searches, peak works, verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from manip_dyn.core.checks import Vector
from manip_dyn.studies.fan2003.cases import CaseFindings, half_unit
from manip_dyn.studies.fan2003.literal import Literal
from manip_dyn.studies.fan2003.peaks import PeakRow
from manip_dyn.studies.report.tables import Table

Cases = Sequence[CaseFindings]


def final_times(found: Cases) -> Table:
    """Return the final times of every case, published beside computed."""
    head = (
        "case",
        "zero net work: printed",
        "by the thesis's rule",
        "exact",
        "minimum time: printed",
        "certified",
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
            case.status,
        )
        for case in found
    )
    return Table("final_times", "Final times, s", head, rows, digits=6)


def controllers(found: Cases) -> Table:
    """Return what the printed positions do under both laws of holding an early joint."""
    head = (
        "case",
        "printed, s",
        "truly held, s",
        "stops short by",
        "literal law (A.4, A.7), s",
        "drift",
        "asked again (A.10), s",
        "first to last digits and late decisions, s",
        "arrive",
        "status",
    )
    rows = tuple(_controllers_row(case) for case in found if case.literal is not None)
    title = "The printed switching positions: when the last joint arrives, largest drift (rad, m)"
    return Table("controllers", title, head, rows, digits=5)


def _controllers_row(case: CaseFindings) -> tuple[object, ...]:
    held, free, again, spread = case.controlled, case.literal, case.asked_again, case.spread
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


def grids(found: Cases) -> Table:
    """Return the thesis's searches: over the whole grid, and around the exact positions."""
    head = ("case", "grid", "found", "trials", "step", "arrival, s", "printed, s", "CPU s")
    rows = []
    for case in found:
        last = max((t for t in case.published["zero_net_work"].get("t_final", ()) if t), default=0)
        for name, grid in (("whole", case.full_grid), ("around the exact", case.grid)):
            if grid is not None:
                arrival = max(grid["arrival_times"]) if grid["found"] else None
                told = (grid["found"], grid["trials"], grid["step"], arrival, last)
                rows.append((case.name, name, *told, grid["seconds"]))
    title = "The thesis's grid search (appendices A.4, A.7)"
    return Table("grids", title, head, tuple(rows), timed=("CPU s",), digits=5)


def peak_works(found: Cases) -> Table:
    """Return the peak works on the links of all zero-net-work motions."""
    rows = tuple(tuple(row) for case in found for row in case.peaks)
    return Table("peak_work", "Peak work on each link, J", PeakRow._fields, rows)


def planning_cost(found: Cases) -> Table:
    """Return the planners' computing times."""
    head = ("case", "zero net work, CPU s", "minimum time, CPU s")
    rows = tuple(
        (case.name, case.cost["zero net work"], case.cost["minimum time"]) for case in found
    )
    return Table("planning_cost", "Planning, all compiled", head, rows, timed=head[1:])


def case_tables(found: Cases) -> Iterable[Table]:
    """Return all of them that have rows."""
    made = (final_times, controllers, grids, peak_works, planning_cost)
    return (table for table in (make(found) for make in made) if table.rows)


def _moving(case: CaseFindings, times: Sequence[float] | Vector) -> tuple[float, ...]:
    moving = zip(times, case.start, strict=True)
    return tuple(t for t, start in moving if start != 0.0 and math.isfinite(t))
