"""The claims of Fan (2003), each as a share of cases that bear it out.

A case is a motion of a table or a section. Only what is about computing times depends on the
machine, and says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from manip_dyn.studies.fan2003.cases import CaseFindings, half_unit
from manip_dyn.studies.report.claims import OFF, Claim, Evidence, steadied

EXACT, AS_PRINTED, MOST, FASTER = 1e-6, 0.05, 6.74, 2.0
"""Shares of a time; difference in percent; largest printed percentage; what much faster is."""
NO_WORK, AT_REST = 1e-6, 1e-3
"""J; rad: what counts as none."""
Cases = Sequence[CaseFindings]


def claims(found: Cases) -> tuple[Claim, ...]:
    """Return all claims, each in its readings."""
    tables = [case for case in found if case.name[0] in "56"]
    pd = [case for case in found if case.pd is not None]
    readings: list[tuple[str, str, Iterable[Evidence]]] = [
        (
            "one switch is exact",
            "final time, zero net work / certified minimum, where that has one switch; 1",
            _ratios(found, one_switch=True),
        ),
        (
            "near minimum",
            "excess over the certified minimum, %, where that has more switches; at most the "
            f"largest printed one, {MOST:g} %",
            [Evidence(case.name, e, e <= MOST) for case, e in _excesses(tables)],
        ),
        (
            "excess",
            f"the same less the printed one, percentage points; within {AS_PRINTED:g}",
            _printed_excesses(tables),
        ),
        (
            "minimum times",
            "printed minimum time / certified; a unit of the last digit from 1, switches a motion",
            _minimum_times(tables),
        ),
        (
            "positions arrive",
            "arrival with early joints truly held, s (0: none); each joint gets there",
            [_held(case) for case in tables if case.controlled is not None],
        ),
        (
            "positions arrive",
            "arrival under the literal laws of A.4 and A.7, s (0: none); each joint gets there",
            [_by_letter(case) for case in tables if case.literal is not None],
        ),
        (
            "printed times",
            "printed final time, s; between the first and last arrival under the literal laws "
            "that the last printed digits and decisions up to 1e-4 s late allow",
            [_timed(case) for case in tables if case.spread is not None],
        ),
        (
            "search ends",
            "motions tried over the whole grid, one joint moving; found within 20,000",
            [_searched(case) for case in tables if case.full_grid is not None],
        ),
        (
            "faster than pd",
            f"final time, PD control / zero net work; above {FASTER:g}",
            [_against_pd(case) for case in pd],
        ),
        (
            "pd arrives",
            "distance from the goal at the end of 10 s of PD control, rad; at most 0.001",
            [_pd_rests(case) for case in pd],
        ),
        (
            "no net work",
            "largest net work on a link, zero net work, J; at most 1e-6",
            [_worked(case) for case in found],
        ),
        (
            "never two singular",
            "singular arcs of a certified motion; never of all joints at once",
            [_singular(case) for case in found if len(case.joints) > 1],
        ),
        (
            "upper bound",
            "final time, zero net work / certified minimum; at least 1",
            _ratios(found, one_switch=None),
        ),
    ]
    judged = [Claim(key, measure, tuple(cases)) for key, measure, cases in readings]
    return (*judged, *_efficient(tables))


# ------------------------------------------------------------------------ final times
def _single(case: CaseFindings) -> bool:
    """Return whether the certified motion has one switch for each moving joint, none else."""
    counts = [len(times) for times in case.minimum_time.switch_times]
    moving = [start != 0.0 for start in case.start]
    return all(count == int(moves) for count, moves in zip(counts, moving, strict=True))


def _ratios(found: Cases, one_switch: bool | None) -> Iterable[Evidence]:
    for case in found:
        if one_switch is None or _single(case) == one_switch:
            ratio = case.zero_net_work.t_final / case.minimum_time.t_final
            exact = abs(ratio - 1.0) <= EXACT
            yield Evidence(case.name, ratio, exact if one_switch else ratio >= 1.0 - EXACT)


def _excesses(found: Cases) -> Iterable[tuple[CaseFindings, float]]:
    for case in found:
        if not _single(case):
            yield case, 100.0 * (case.zero_net_work.t_final / case.minimum_time.t_final - 1.0)


def _printed_excesses(found: Cases) -> Iterable[Evidence]:
    for case, excess in _excesses(found):
        gap = excess - case.published["error_percent"]
        yield Evidence(case.name, gap, abs(gap) <= AS_PRINTED)


def _minimum_times(found: Cases) -> Iterable[Evidence]:
    for case in found:
        published, ours = case.published["minimum_time"]["t_final"], case.minimum_time.t_final
        near = abs(published - ours) <= 2.0 * half_unit(case.published)
        solution = case.printed is not None and case.printed.is_solution
        yield Evidence(case.name, published / ours, near and solution)


# ------------------------------------------------------------------------ controllers
def _held(case: CaseFindings) -> Evidence:
    run = case.controlled
    assert run is not None
    arrived = run.arrived or case.arrives_rounded
    return Evidence(case.name, run.t_end if run.arrived else 0.0, arrived)


def _by_letter(case: CaseFindings) -> Evidence:
    run, spread = case.literal, case.spread
    assert run is not None
    assert spread is not None
    time = float(run.t_arrival.max()) if run.arrived else 0.0
    return Evidence(case.name, time, run.arrived or spread.arrived > 0)


def _timed(case: CaseFindings) -> Evidence:
    assert case.spread is not None
    last = max(t for t in case.published["zero_net_work"]["t_final"] if t is not None)
    return Evidence(case.name, last, case.spread.covers(last, half_unit(case.published)))


def _searched(case: CaseFindings) -> Evidence:
    assert case.full_grid is not None
    return Evidence(case.name, case.full_grid["trials"], case.full_grid["found"])


def _against_pd(case: CaseFindings) -> Evidence:
    assert case.pd is not None
    ratio = (case.pd.t_final or float("inf")) / case.zero_net_work.t_final
    return Evidence(case.name, ratio, ratio > FASTER)


def _pd_rests(case: CaseFindings) -> Evidence:
    (run,) = (each for each in case.traces if each.label == "PD")
    left = float(abs(run.q[-1]).max())
    return Evidence(case.name, left, left <= AT_REST)


# ---------------------------------------------------------------------- other motions
def _worked(case: CaseFindings) -> Evidence:
    most = max(map(abs, case.zero_net_work.net_work or ()), default=0.0)
    return Evidence(case.name, most, most <= NO_WORK)


def _singular(case: CaseFindings) -> Evidence:
    arcs = case.minimum_time.certificate["singular_arcs"]
    at_once = any(
        len({joint for joint, start, end in arcs if start <= begin < end}) == len(case.joints)
        for _, begin, _ in arcs
    )
    return Evidence(case.name, len(arcs), not at_once)


# ---------------------------------------------------------------------------- times
def _efficient(found: Cases) -> Iterable[Claim]:
    """Return what planning takes; times that are off change no verdict, or it is said."""
    for measure, slow in (
        (f"planning time, exact minimum / our zero net work; above {FASTER:g}", "zero net work"),
        (
            f"planning time, exact minimum / the thesis's own search where it ends; above "
            f"{FASTER:g}",
            "grid",
        ),
    ):
        rows = [(case.name, _cost(case, slow)) for case in found]
        ratios = [(name, ratio) for name, ratio in rows if ratio is not None]
        variants = [
            Claim("efficient", measure, tuple(_faster(ratios, share)))
            for share in (1.0, 1.0 - OFF, 1.0 + OFF)
        ]
        yield steadied(variants[0], variants[1:])


def _cost(case: CaseFindings, slow: str) -> float | None:
    if slow != "grid":
        return case.cost["minimum time"] / case.cost[slow]
    if case.full_grid is None or not case.full_grid["found"]:
        return None
    return case.cost["minimum time"] / case.full_grid["seconds"]


def _faster(ratios: Iterable[tuple[str, float]], share: float) -> Iterable[Evidence]:
    for name, ratio in ratios:
        yield Evidence(name, ratio, ratio * share > FASTER)
