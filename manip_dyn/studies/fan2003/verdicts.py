"""Published beside computed for a case of fan2003, its status, and a note with the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.interpolate import CubicHermiteSpline

from manip_dyn.studies.fan2003.cases import CaseFindings, Row, SingleSwitch, half_unit
from manip_dyn.studies.fan2003.replay import Controlled

CLOSE = 0.01
"""Up to a unit of the last printed digit is reproduced, up to this share of the number close."""
RULE, EXACT, MINIMUM, PD = "zero net work, thesis's rule", "zero net work", "minimum time", "PD"


def judged(found: CaseFindings) -> CaseFindings:
    """Return the findings with rows, status and note."""
    rows = tuple(_rows(found))
    status, note = _status(found, rows)
    return replace(found, rows=rows, status=status, note=note)


# --------------------------------------------------------------------------- rows
def _rows(found: CaseFindings) -> Iterable[Row]:
    published, half = found.published, half_unit(found.published)
    for column, motion in ((RULE, found.as_published), (EXACT, found.zero_net_work)):
        yield from _single_switch_rows(column, published["zero_net_work"], motion, found, half)
    minimum, printed = found.minimum_time, published["minimum_time"]
    switches = printed.get("switch_times", [])
    for joint, times in zip(found.joints, switches, strict=False):
        computed = minimum.switch_times[found.joints.index(joint)]
        yield from _switch_rows(joint, times, computed, half)
    yield _row(MINIMUM, "t_final", printed["t_final"], minimum.t_final, half)
    for k, value in enumerate(printed.get("costates", [])):
        yield _row(MINIMUM, f"costate {k + 1} at the start", value, minimum.costates[k], half)
    if "error_percent" in published:
        slower = 100.0 * (found.zero_net_work.t_final / minimum.t_final - 1.0)
        yield _row(EXACT, "slower than minimum, %", published["error_percent"], slower, 0.005)
    if found.pd is not None:
        yield _row(PD, "t_final", published.get("pd", {}).get("t_final"), found.pd.t_final, half)


def _single_switch_rows(
    column: str, printed: dict[str, Any], motion: SingleSwitch, found: CaseFindings, half: float
) -> Iterable[Row]:
    values = {
        "q_switch": motion.q_switch,
        "t_switch": motion.t_switch,
        "t_final": motion.arrival_times,
    }
    for i, joint in enumerate(found.joints):
        if found.start[i] == 0.0:
            continue
        for key, computed in values.items():
            published = printed.get(key, [None] * len(found.joints))[i]
            yield _row(column, f"{joint} {key}", published, computed[i], half)


def _switch_rows(
    joint: str, published: Sequence[float], computed: Sequence[float], half: float
) -> Iterable[Row]:
    if len(published) != len(computed):
        yield Row(MINIMUM, f"{joint} switches", tuple(published), tuple(computed), None, "others")
        return
    for k, (one, other) in enumerate(zip(published, computed, strict=True), start=1):
        yield _row(MINIMUM, f"{joint} switch {k}", one, other, half)


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
def _status(found: CaseFindings, rows: Sequence[Row]) -> tuple[str, str]:
    """Return ``reproduced``, ``corrected`` or ``differs`` with the evidence."""
    words, corrected = [], False
    if note := found.published.get("note"):
        words.append(note)
    net_work, wrong = _net_work_words(found)
    words, corrected = words + net_work, corrected or wrong
    minimum, wrong = _minimum_words(found)
    words, corrected = words + minimum, corrected or wrong
    if found.pd is not None:
        words += _pd_words(found)
    printed = [row for row in rows if row.status != "not published"]
    if corrected:
        status = "corrected"
    elif all(row.status == "reproduced" for row in printed if row.column != RULE):
        status = "reproduced"
    else:
        status = "differs"
    return status, " ".join(words)


def _net_work_words(found: CaseFindings) -> tuple[list[str], bool]:
    times = found.published["zero_net_work"].get("t_final")
    motion, replay = found.zero_net_work, found.controlled
    if times is None:
        return [], False
    words, wrong = [], False
    for i, t in enumerate(times):
        short = None if t is None else motion.arrival_times[i] - t
        if short is not None and abs(short) > half_unit(found.published):
            words.append(
                f"The zero-net-work motion of {found.joints[i]} comes to rest at "
                f"{motion.arrival_times[i]:.5f} s, {abs(short):.5f} s "
                f"{'after' if short > 0 else 'before'} the printed time"
                + (f", when it is {_distance(found, i, t):.1e} away." if short > 0 else ".")
            )
            wrong = True
    if replay is not None and not replay.arrived and not found.arrives_rounded:
        words.append(_controller_words(found, replay))
        wrong = wrong or found.controlled_exactly.arrived
    if found.grid is not None and found.grid["found"]:
        words.append(
            f"The thesis's grid search arrives at {max(found.grid['arrival_times']):.4f} s "
            f"(step {found.grid['step']:.2g}, {found.grid['trials']} trials)."
        )
    elif found.grid is not None:
        words.append(
            f"The thesis's grid search finds nothing in {found.grid['trials']} trials around "
            "the exact switching positions."
        )
    return words, wrong


def _distance(found: CaseFindings, joint: int, t: float) -> float:
    """Return how far a joint is from its goal at `t` s of the exact zero-net-work motion."""
    exact = found.traces[0]
    path = CubicHermiteSpline(exact.time, exact.q[:, joint], exact.v[:, joint])
    return abs(float(path(t)))


def _controller_words(found: CaseFindings, replay: Controlled) -> str:
    joint = found.joints[replay.farthest]
    short = (
        f"With early joints truly held the printed switching positions leave the braked {joint} "
        f"{replay.miss:.1e} {found.units[replay.farthest]} short of its goal at "
        f"{replay.t_end:.4f} s, whatever the rounding of the printed digits"
    )
    exact = found.controlled_exactly
    if exact.arrived:
        short += "; the exact ones arrive."
    else:
        short += f", and the exact ones {exact.miss:.1e}."
    return f"{short} {_literal_words(found)}"


def _literal_words(found: CaseFindings) -> str:
    """Return what the thesis's own laws make of the printed positions."""
    run, spread = found.literal, found.spread
    if run is None or spread is None:
        return ""
    if not run.arrived and spread.arrived == 0:
        return "Under the thesis's own holding laws they do not arrive either."
    last = max(t for t in found.published["zero_net_work"]["t_final"] if t is not None)
    i = int(np.argmax(run.drift))
    words = (
        f"Under the thesis's own holding laws, true of a joint at rest at its goal alone, "
        f"{found.joints[i]} drifts by up to {run.drift[i]:.1e} {found.units[i]} and the last "
        f"joint arrives at {run.t_arrival.max():.4f} s, between {spread.earliest:.4f} and "
        f"{spread.latest:.4f} s as the last printed digits and decisions up to 1e-4 s late have "
        "it: "
    )
    if spread.covers(last, half_unit(found.published)):
        return f"{words}the printed {last:.4f} s is among them."
    return f"{words}the printed {last:.4f} s is not among them."


def _minimum_words(found: CaseFindings) -> tuple[list[str], bool]:
    ours, published = found.minimum_time, found.published["minimum_time"]
    replay, gap = found.printed, published["t_final"] - ours.t_final
    if abs(gap) <= half_unit(found.published) * (1.0 + 1e-6):
        words = ["The minimum time is the printed one, certified."]
        return words + ([_refined_words(found)] if _other_switches(found) else []), False
    words = []
    if replay is not None and replay.ends_at_goal and not replay.is_solution:
        words.append(
            "The printed minimum-time motion is no solution of the thesis's own equations: the "
            f"nearest one has times {replay.shift:.1e} s off, rounding of the printed digits "
            f"explains {replay.half_unit:.0e} s."
        )
    if replay is not None and not replay.ends_at_goal:
        k, n = replay.worst, len(found.joints)
        unit = found.units[k % n] + ("/s" if k >= n else "")
        words.append(
            "The printed minimum-time motion is no solution of the thesis's own equations: its "
            f"switches end {abs(replay.end[k]):.1e} {unit} from rest at the goal "
            f"({found.joints[k % n]}), rounding of the printed digits explains "
            f"{replay.rounding[k]:.1e}."
        )
    if replay is not None and replay.refined is not None:
        words.append(_refined_words(found))
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


def _other_switches(found: CaseFindings) -> bool:
    """Return whether the motion near the printed switches is another one than ours."""
    replay = found.printed
    if replay is None or replay.refined is None:
        return False
    one, other = replay.refined_switches, found.minimum_time.switch_times
    if [len(each) for each in one] != [len(each) for each in other]:
        return True
    gaps = [abs(a - b) for x, y in zip(one, other, strict=True) for a, b in zip(x, y, strict=True)]
    return max(gaps, default=0.0) > 1e-5


def _refined_words(found: CaseFindings) -> str:
    replay = found.printed
    assert replay is not None
    assert replay.refined is not None
    if not _other_switches(found):
        return "Newton's method leads from the printed switches to the certified motion."
    what = "; ".join(replay.failures) or "certified, a local minimum"
    if abs(replay.refined - found.minimum_time.t_final) < 1e-6:
        what = "other switches, and as fast as the one above"
    return (
        f"Newton's method leads from the printed switches to a motion of {replay.refined:.6f} s: "
        f"{what}."
    )


def _pd_words(found: CaseFindings) -> list[str]:
    pd, published = found.pd, found.published.get("pd", {}).get("t_final")
    assert pd is not None
    words = [
        f"PD control overshoots and stays within {pd.near:g} rad of the goal "
        + ("nowhere." if pd.t_settled is None else f"from {pd.t_settled:.4f} s on.")
    ]
    if published is not None:
        words.append(f"At the printed {published:.4f} s it is {pd.at_published:.1e} rad away.")
    return words
