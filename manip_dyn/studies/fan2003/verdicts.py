"""Verdicts on Fan (2003): claims as fractions of cases, and the status of each case.

A case is a motion of a table or a section. Only claims about computing times depend on the
machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from manip_dyn.studies.fan2003.motions import CaseFindings, Row, SingleSwitch, half_unit
from manip_dyn.studies.fan2003.replay import Controlled
from manip_dyn.studies.report.claims import TIME_ERROR, Claim, Evidence, with_alternatives

SAME_TIME, AS_PRINTED, MOST, FASTER = 1e-6, 0.05, 6.74, 2.0
"""Tolerance of ratios of times; tolerance of excesses, percentage points; largest printed excess,
%; ratio of times above which the faster one is much faster."""
SIX_DIGITS = 1e-5
"""Tolerance of the final times in appendix A.8, which have six decimals, s."""
NO_WORK, AT_REST = 1e-6, 1e-3
"""Largest net work (J) and largest distance (rad) that count as zero."""
Cases = Sequence[CaseFindings]


def claims(cases: Cases) -> tuple[Claim, ...]:
    """Return all claims, with one entry per measure."""
    tables = [case for case in cases if case.name[0] in "56"]
    pd = [case for case in cases if case.pd is not None]
    readings: list[tuple[str, str, Iterable[Evidence]]] = [
        (
            "one switch is exact",
            "ratio of final times, zero net work / certified minimum with one switch per joint; "
            "equal to 1",
            _ratios(cases, one_switch=True),
        ),
        (
            "near minimum",
            "excess of the final time over a certified minimum with more switches, %; at most the "
            f"largest printed excess, {MOST:g} %",
            [Evidence(case.name, e, e <= MOST) for case, e in _excesses(tables)],
        ),
        (
            "excess",
            f"computed minus printed excess, percentage points; within {AS_PRINTED:g}",
            _printed_excesses(tables),
        ),
        (
            "minimum times",
            "ratio of minimum times, printed / certified; equal within a unit of the last digit, "
            "with the switches of an extremal",
            _minimum_times(tables),
        ),
        (
            "guessed times",
            "final time in the guesses of A.8 minus that of the extremal nearest to the printed "
            f"switches, s; at most {SIX_DIGITS:g}",
            _guessed_times(tables),
        ),
        (
            "positions arrive",
            "arrival time with early joints at zero acceleration, s (0: no arrival); all joints "
            "arrive",
            [_held_arrival(case) for case in tables if case.controlled is not None],
        ),
        (
            "positions arrive",
            "arrival time under the literal laws of A.4 and A.7, s (0: no arrival); all joints "
            "arrive",
            [_literal_arrival(case) for case in tables if case.literal is not None],
        ),
        (
            "printed times",
            "printed final time, s; between the first and last arrival under the literal laws "
            "with varied last digits and decisions delayed by up to 1e-4 s",
            [_printed_time(case) for case in tables if case.spread is not None],
        ),
        (
            "search ends",
            "number of motions tried on the whole grid, one moving joint; solution found within "
            "20,000",
            [_grid_search_trials(case) for case in tables if case.full_grid is not None],
        ),
        (
            "faster than pd",
            f"ratio of final times, PD control / zero net work; above {FASTER:g}",
            [_against_pd(case) for case in pd],
        ),
        (
            "pd arrives",
            "distance from the goal at the end of 10 s of PD control, rad; at most 0.001",
            [_pd_rests(case) for case in pd],
        ),
        (
            "no net work",
            "largest net work on a link in the zero-net-work motion, J; at most 1e-6",
            [_worked(case) for case in cases],
        ),
        (
            "never two singular",
            "number of singular arcs in a certified motion; never of all joints at once",
            [_singular(case) for case in cases if len(case.joints) > 1],
        ),
        (
            "upper bound",
            "ratio of final times, zero net work / certified minimum; at least 1",
            _ratios(cases, one_switch=None),
        ),
    ]
    judged = [Claim(key, measure, tuple(cases)) for key, measure, cases in readings]
    return (*judged, *_efficient(tables))


# ------------------------------------------------------------------------ final times
def _single(case: CaseFindings) -> bool:
    """Return whether each moving joint of the certified motion has one switch, the others none."""
    counts = [len(times) for times in case.minimum_time.switch_times]
    moving = [start != 0.0 for start in case.start]
    return all(count == int(moves) for count, moves in zip(counts, moving, strict=True))


def _ratios(cases: Cases, one_switch: bool | None) -> Iterable[Evidence]:
    for case in cases:
        if one_switch is None or _single(case) == one_switch:
            ratio = case.zero_net_work.t_final / case.minimum_time.t_final
            exact = abs(ratio - 1.0) <= SAME_TIME
            yield Evidence(case.name, ratio, exact if one_switch else ratio >= 1.0 - SAME_TIME)


def _excesses(cases: Cases) -> Iterable[tuple[CaseFindings, float]]:
    for case in cases:
        if not _single(case):
            yield case, 100.0 * (case.zero_net_work.t_final / case.minimum_time.t_final - 1.0)


def _printed_excesses(cases: Cases) -> Iterable[Evidence]:
    for case, excess in _excesses(cases):
        gap = excess - case.published["error_percent"]
        yield Evidence(case.name, gap, abs(gap) <= AS_PRINTED)


def _minimum_times(cases: Cases) -> Iterable[Evidence]:
    for case in cases:
        published, ours = case.published["minimum_time"]["t_final"], case.minimum_time.t_final
        near = abs(published - ours) <= 2.0 * half_unit(case.published)
        solution = case.printed is not None and case.printed.is_solution
        yield Evidence(case.name, published / ours, near and solution)


def _guessed_times(cases: Cases) -> Iterable[Evidence]:
    for case in cases:
        replay, guess = case.printed, case.guessed_time
        if replay is not None and replay.refined is not None and guess is not None:
            gap = guess - replay.refined
            yield Evidence(case.name, gap, abs(gap) <= SIX_DIGITS)


# ------------------------------------------------------------------------ controllers
def _held_arrival(case: CaseFindings) -> Evidence:
    run = case.controlled
    assert run is not None
    arrived = run.arrived or case.arrives_rounded
    return Evidence(case.name, run.t_end if run.arrived else 0.0, arrived)


def _literal_arrival(case: CaseFindings) -> Evidence:
    run, spread = case.literal, case.spread
    assert run is not None
    assert spread is not None
    time = float(run.t_arrival.max()) if run.arrived else 0.0
    return Evidence(case.name, time, run.arrived or spread.arrived > 0)


def _printed_time(case: CaseFindings) -> Evidence:
    assert case.spread is not None
    last = max(t for t in case.published["zero_net_work"]["t_final"] if t is not None)
    return Evidence(case.name, last, case.spread.covers(last, half_unit(case.published)))


def _grid_search_trials(case: CaseFindings) -> Evidence:
    assert case.full_grid is not None
    return Evidence(case.name, case.full_grid["trials"], case.full_grid["found"])


def _against_pd(case: CaseFindings) -> Evidence:
    assert case.pd is not None
    ratio = (case.pd.t_final or float("inf")) / case.zero_net_work.t_final
    return Evidence(case.name, ratio, ratio > FASTER)


def _pd_rests(case: CaseFindings) -> Evidence:
    (run,) = (trace for trace in case.traces if trace.label == "PD")
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
def _efficient(cases: Cases) -> Iterable[Claim]:
    """Yield the claims about planning times, with the verdicts for scaled times."""
    for measure, slow in (
        (
            f"ratio of planning times, exact minimum / zero net work; above {FASTER:g}",
            "zero net work",
        ),
        (
            "ratio of planning times, exact minimum / the thesis's search if it finds a solution; "
            f"above {FASTER:g}",
            "grid",
        ),
    ):
        rows = [(case.name, _cost(case, slow)) for case in cases]
        ratios = [(name, ratio) for name, ratio in rows if ratio is not None]
        variants = [
            Claim("efficient", measure, tuple(_faster(ratios, factor)))
            for factor in (1.0, 1.0 - TIME_ERROR, 1.0 + TIME_ERROR)
        ]
        yield with_alternatives(variants[0], variants[1:])


def _cost(case: CaseFindings, slow: str) -> float | None:
    if slow != "grid":
        return case.cost["minimum time"] / case.cost[slow]
    if case.full_grid is None or not case.full_grid["found"]:
        return None
    return case.cost["minimum time"] / case.full_grid["seconds"]


def _faster(ratios: Iterable[tuple[str, float]], factor: float) -> Iterable[Evidence]:
    for name, ratio in ratios:
        yield Evidence(name, ratio, ratio * factor > FASTER)


# -------------------------------------------------------------------------- status of a case
CLOSE = 0.01
"""Largest relative difference of close numbers. A number is reproduced if it agrees within a unit
of the last printed digit."""
RULE, ZERO_NET_WORK, MINIMUM_TIME, PD = (
    "zero net work, thesis's rule",
    "zero net work",
    "minimum time",
    "PD",
)


def with_status(case: CaseFindings) -> CaseFindings:
    """Return the findings of a case with its rows, status and note."""
    rows = tuple(_rows(case))
    status, note = _status(case, rows)
    return replace(case, rows=rows, status=status, note=note)


# --------------------------------------------------------------------------- rows
def _rows(case: CaseFindings) -> Iterable[Row]:
    published, half = case.published, half_unit(case.published)
    for column, motion in ((RULE, case.as_published), (ZERO_NET_WORK, case.zero_net_work)):
        yield from _single_switch_rows(column, published["zero_net_work"], motion, case, half)
    minimum, printed = case.minimum_time, published["minimum_time"]
    switches = printed.get("switch_times", [])
    for joint, times in zip(case.joints, switches, strict=False):
        computed = minimum.switch_times[case.joints.index(joint)]
        yield from _switch_rows(joint, times, computed, half)
    yield _row(MINIMUM_TIME, "t_final", printed["t_final"], minimum.t_final, half)
    for k, value in enumerate(printed.get("costates", [])):
        yield _row(MINIMUM_TIME, f"costate {k + 1} at the start", value, minimum.costates[k], half)
    if "error_percent" in published:
        slower = 100.0 * (case.zero_net_work.t_final / minimum.t_final - 1.0)
        yield _row(
            ZERO_NET_WORK, "slower than minimum, %", published["error_percent"], slower, 0.005
        )
    if case.pd is not None:
        yield _row(PD, "t_final", published.get("pd", {}).get("t_final"), case.pd.t_final, half)


def _single_switch_rows(
    column: str, printed: dict[str, Any], motion: SingleSwitch, case: CaseFindings, half: float
) -> Iterable[Row]:
    values = {
        "q_switch": motion.q_switch,
        "t_switch": motion.t_switch,
        "t_final": motion.arrival_times,
    }
    for i, joint in enumerate(case.joints):
        if case.start[i] == 0.0:
            continue
        for key, computed in values.items():
            published = printed.get(key, [None] * len(case.joints))[i]
            yield _row(column, f"{joint} {key}", published, computed[i], half)


def _switch_rows(
    joint: str, published: Sequence[float], computed: Sequence[float], half: float
) -> Iterable[Row]:
    if len(published) != len(computed):
        yield Row(
            MINIMUM_TIME,
            f"{joint} switches",
            tuple(published),
            tuple(computed),
            None,
            "other number of switches",
        )
        return
    for k, (published_time, computed_time) in enumerate(
        zip(published, computed, strict=True), start=1
    ):
        yield _row(MINIMUM_TIME, f"{joint} switch {k}", published_time, computed_time, half)


def _row(
    column: str, quantity: str, published: float | None, computed: float | None, half: float
) -> Row:
    if published is None or computed is None:
        return Row(column, quantity, published, computed, None, "not published")
    difference = computed - published
    if abs(difference) <= 2.0 * half * (1.0 + 1e-6):
        status = "reproduced"
    else:
        status = "close" if abs(difference) <= CLOSE * abs(published) else "differs"
    return Row(column, quantity, published, computed, difference, status)


# ------------------------------------------------------------------ status and note
def _status(case: CaseFindings, rows: Sequence[Row]) -> tuple[str, str]:
    """Return the status (``reproduced``, ``corrected`` or ``differs``) and the reasons."""
    words, corrected = [], False
    if note := case.published.get("note"):
        words.append(note)
    net_work, wrong = _net_work_words(case)
    words, corrected = words + net_work, corrected or wrong
    minimum, wrong = _minimum_words(case)
    words, corrected = words + minimum, corrected or wrong
    if case.pd is not None:
        words += _pd_words(case)
    printed = [row for row in rows if row.status != "not published"]
    if corrected:
        status = "corrected"
    elif all(row.status == "reproduced" for row in printed if row.column != RULE):
        status = "reproduced"
    else:
        status = "differs"
    return status, " ".join(words)


def _net_work_words(case: CaseFindings) -> tuple[list[str], bool]:
    times = case.published["zero_net_work"].get("t_final")
    motion, replay = case.zero_net_work, case.controlled
    if times is None:
        return [], False
    words, wrong = [], False
    for i, t in enumerate(times):
        short = None if t is None else motion.arrival_times[i] - t
        if short is not None and abs(short) > half_unit(case.published):
            words.append(
                f"The zero-net-work motion of {case.joints[i]} comes to rest at "
                f"{motion.arrival_times[i]:.5f} s, {abs(short):.5f} s "
                f"{'after' if short > 0 else 'before'} the printed time"
                + (
                    f", at which it is {_distance(case, i, t):.1e} {case.units[i]} from its goal."
                    if short > 0
                    else "."
                )
            )
            wrong = True
    if replay is not None and not replay.arrived and not case.arrives_rounded:
        words.append(_controller_words(case, replay))
        wrong = wrong or case.controlled_exactly.arrived
    if case.grid is not None and case.grid["found"]:
        words.append(
            f"The thesis's grid search arrives at {max(case.grid['arrival_times']):.4f} s "
            f"(step {case.grid['step']:.2g}, {case.grid['trials']} trials)."
        )
    elif case.grid is not None:
        words.append(
            f"The thesis's grid search finds no solution in {case.grid['trials']} trials around "
            "the exact switching positions."
        )
    return words, wrong


def _distance(case: CaseFindings, joint: int, t: float) -> float:
    """Return the distance of a joint from its goal at time `t` (s) of the exact motion."""
    exact = case.traces[0]
    path = CubicHermiteSpline(exact.time, exact.q[:, joint], exact.v[:, joint])
    return abs(float(path(t)))


def _controller_words(case: CaseFindings, replay: Controlled) -> str:
    joint = case.joints[replay.farthest]
    short = (
        f"With early joints at zero acceleration, the printed switching positions leave {joint} "
        f"{replay.miss:.1e} {case.units[replay.farthest]} short of its goal at "
        f"{replay.t_end:.4f} s, for any rounding of the printed digits."
    )
    exact = case.controlled_exactly
    if exact.arrived:
        short += " With the exact switching positions, all joints arrive."
    else:
        unit = case.units[exact.farthest]
        short += f" The exact switching positions leave a distance of {exact.miss:.1e} {unit}."
    return f"{short} {_literal_words(case)}"


def _literal_words(case: CaseFindings) -> str:
    """Return sentences about the printed positions under the literal laws of the thesis."""
    run, spread = case.literal, case.spread
    if run is None or spread is None:
        return ""
    if not run.arrived and spread.arrived == 0:
        return "Under the literal laws, the joints do not arrive either."
    last = max(t for t in case.published["zero_net_work"]["t_final"] if t is not None)
    i = int(np.argmax(run.drift))
    words = (
        f"Under the literal laws, which are exact only for a joint at rest at its goal, the "
        f"{case.joints[i]} drifts by up to {run.drift[i]:.1e} {case.units[i]} and the last "
        f"joint arrives at {run.t_arrival.max():.4f} s. With varied last digits and decisions "
        f"delayed by up to 1e-4 s, it arrives between {spread.earliest:.4f} and "
        f"{spread.latest:.4f} s. "
    )
    if spread.covers(last, half_unit(case.published)):
        return f"{words}The printed {last:.4f} s is in this range."
    return f"{words}The printed {last:.4f} s is not in this range."


TWIN = "It is not unique: another motion, for example the time-mirrored one, takes the same time."


def _minimum_words(case: CaseFindings) -> tuple[list[str], bool]:
    """Return the sentences about the minimum time, and whether it corrects the thesis."""
    words, corrected = _certified_words(case)
    return words + ([TWIN] if case.minimum_time.unique is False else []), corrected


def _certified_words(case: CaseFindings) -> tuple[list[str], bool]:
    ours, published = case.minimum_time, case.published["minimum_time"]
    replay, gap = case.printed, published["t_final"] - ours.t_final
    if abs(gap) <= half_unit(case.published) * (1.0 + 1e-6):
        words = ["The printed minimum time is certified."]
        return words + ([_refined_words(case)] if _other_switches(case) else []), False
    words = []
    if replay is not None and replay.ends_at_goal and not replay.is_solution:
        words.append(
            "The printed minimum-time motion does not satisfy the thesis's equations: the "
            f"switching times of the nearest solution differ by {replay.shift:.1e} s, and "
            f"rounding of the printed digits explains {replay.half_unit:.0e} s."
        )
    if replay is not None and not replay.ends_at_goal:
        k, n = replay.worst, len(case.joints)
        unit = case.units[k % n] + ("/s" if k >= n else "")
        words.append(
            "The printed minimum-time motion does not satisfy the thesis's equations: it misses "
            f"rest at the goal by {abs(replay.end[k]):.1e} {unit} ({case.joints[k % n]}), and "
            f"rounding of the printed digits explains {replay.rounding[k]:.1e} {unit}."
        )
    if replay is not None and replay.refined is not None:
        words.append(_refined_words(case))
    if gap > 0.0:
        words.append(
            f"A certified motion takes {ours.t_final:.6f} s, {gap:.6f} s less than the printed "
            "minimum."
        )
    else:
        words.append(f"The certified motion takes {ours.t_final:.6f} s.")
    for joint, begin, end in ours.certificate["singular_arcs"]:
        words.append(f"It has a singular arc of {joint} from {begin:.4f} to {end:.4f} s.")
    return words, True


def _other_switches(case: CaseFindings) -> bool:
    """Return whether the motion near the printed switches differs from the certified one."""
    replay = case.printed
    if replay is None or replay.refined is None:
        return False
    refined, computed = replay.refined_switches, case.minimum_time.switch_times
    if [len(times) for times in refined] != [len(times) for times in computed]:
        return True
    gaps = [
        abs(a - b)
        for x, y in zip(refined, computed, strict=True)
        for a, b in zip(x, y, strict=True)
    ]
    return max(gaps, default=0.0) > 1e-5


def _refined_words(case: CaseFindings) -> str:
    replay = case.printed
    assert replay is not None
    assert replay.refined is not None
    if not _other_switches(case):
        return "Newton's method converges from the printed switches to the certified motion."
    what = "; ".join(replay.failures) or "certified, a local minimum"
    if abs(replay.refined - case.minimum_time.t_final) < 1e-6:
        what = "other switches, and the same time as above"
    return (
        "Newton's method converges from the printed switches to a motion of "
        f"{replay.refined:.6f} s: {what}."
    )


def _pd_words(case: CaseFindings) -> list[str]:
    pd, published = case.pd, case.published.get("pd", {}).get("t_final")
    assert pd is not None
    words = [
        f"PD control overshoots and stays within {pd.near:g} rad of the goal "
        + ("at no time." if pd.t_settled is None else f"from {pd.t_settled:.4f} s on.")
    ]
    if published is not None:
        words.append(f"At the printed {published:.4f} s it is {pd.at_published:.1e} rad away.")
    return words
