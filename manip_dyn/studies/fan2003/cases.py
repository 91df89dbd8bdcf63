"""What is found for a table, or a motion of a section, as plain records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from manip_dyn.core.checks import Vector
from manip_dyn.studies.fan2003.literal import Literal, Spread
from manip_dyn.studies.fan2003.peaks import PeakRow
from manip_dyn.studies.fan2003.replay import Controlled, Printed

Value = float | tuple[float, ...] | None


class Row(NamedTuple):
    """A published number beside a computed one; lists of switches where their numbers differ."""

    column: str
    quantity: str
    published: Value
    computed: Value
    difference: float | None
    status: str


class SingleSwitch(NamedTuple):
    """A zero-net-work motion.

    Attributes:
        status: That of the plan.
        q_switch: Switching positions (n,), None for a joint that does not move.
        t_switch: Switching times (n,), s.
        arrival_times: Arrivals (n,), s; 0 for a joint that does not move.
        t_final: The last of them, s.
        net_work: Net work on each link (n,), J; None: not at rest.
        peak_work: Largest work during the motion, J.
    """

    status: str
    q_switch: tuple[float | None, ...]
    t_switch: tuple[float | None, ...]
    arrival_times: tuple[float, ...]
    t_final: float
    net_work: tuple[float, ...] | None
    peak_work: float


class MinimumTime(NamedTuple):
    """A certified motion; `first_signs` are those of the first efforts, 0 for a singular one."""

    status: str
    reason: str
    first_signs: tuple[float, ...]
    switch_times: tuple[tuple[float, ...], ...]
    t_final: float
    costates: tuple[float, ...]
    certificate: dict[str, Any]


class PdControl(NamedTuple):
    """A motion under PD control.

    Attributes:
        kp: Gains (n,).
        kd: Gains (n,).
        near: How near the goal counts, rad or m.
        t_final: When no joint is more than `near` before its goal any more, the one-sided test of
            the thesis's programs, s; None: never.
        t_settled: From when on all joints stay within `near` on both sides, s; None: never.
        at_published: Largest distance from the goal at the printed time, rad or m.
    """

    kp: tuple[float, ...]
    kd: tuple[float, ...]
    near: float
    t_final: float | None
    t_settled: float | None
    at_published: float | None


class Trace(NamedTuple):
    """A motion over time: (k,), positions, velocities, efforts (k, n), work times and (m, n)."""

    label: str
    time: Vector
    q: Vector
    v: Vector
    tau: Vector
    work_time: Vector
    work: Vector


@dataclass(frozen=True)
class CaseFindings:
    """What was found for a table, or a motion of a section.

    Attributes:
        name: ``5.3``, ``4.1 case 1``.
        arm: Name in the settings.
        joints: Joint names (n,), with `units` of their positions and `effort_units`.
        start: Start (n,).
        published: What the thesis prints.
        zero_net_work: Exact.
        as_published: The same motion with the thesis's rule of arrival.
        grid: What the thesis's grid search found, None where it was not run.
        minimum_time: Certified.
        pd: PD control, where the thesis has gains.
        controlled: Replay of the printed switching positions, None where there are none.
        controlled_exactly: The same with the exact switching positions.
        arrives_rounded: Whether it arrives, rounding of the printed positions granted.
        printed: Replay of the printed switching times, None where there are none.
        literal: The printed positions under the thesis's own laws (A.7), None where there are none
            or one joint alone is there.
        asked_again: The same where a joint that arrived is asked again at every step (A.10).
        spread: What the last digits and late decisions change of the former.
        full_grid: What the thesis's search over its whole grid found, None where it was not run.
        peaks: Peak works on the links.
        costates: Times (k,) and costates (k, 2 n) of the minimum-time motion.
        cost: Planning times by planner, s.
        rows: Published beside computed.
        status: Of the whole.
        note: Why.
        traces: For charts.
        switching: Times (k,) and switching functions (k, n) of the minimum-time motion.
    """

    name: str
    arm: str
    joints: tuple[str, ...]
    units: tuple[str, ...]
    effort_units: tuple[str, ...]
    start: tuple[float, ...]
    published: dict[str, Any]
    zero_net_work: SingleSwitch
    as_published: SingleSwitch
    grid: dict[str, Any] | None
    minimum_time: MinimumTime
    pd: PdControl | None
    controlled: Controlled | None
    controlled_exactly: Controlled
    arrives_rounded: bool
    printed: Printed | None
    literal: Literal | None
    asked_again: Literal | None
    spread: Spread | None
    full_grid: dict[str, Any] | None
    peaks: tuple[PeakRow, ...]
    costates: tuple[Vector, Vector]
    cost: dict[str, float]
    traces: tuple[Trace, ...]
    switching: tuple[Vector, Vector]
    rows: tuple[Row, ...] = ()
    status: str = ""
    note: str = ""


def half_unit(published: dict[str, Any]) -> float:
    """Return half a unit of the last printed digit."""
    return 0.5 * 10.0 ** -published.get("decimals", 4)
