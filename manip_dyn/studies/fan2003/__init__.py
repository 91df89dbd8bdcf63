"""Study of Fan (2003): zero-net-work, minimum-time and PD motions, recomputed and corrected.

Fan, T., Near-minimum-time control of a robot manipulator, M.A.Sc. thesis, University of British
Columbia, 2003. The study covers sections 3.1.2, 3.1.3, 3.2, 4.1 and 4.2, and tables 5.3 to 5.6
and 6.2 to 6.5. ``config/fan2003.yaml`` defines the arms and the motions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from manip_dyn.bench.timing import setting
from manip_dyn.core.checks import Vector
from manip_dyn.planning import Plan, plan_minimum_time, plan_zero_net_work
from manip_dyn.robot import Robot
from manip_dyn.studies.fan2003.backup import BackupRow, backup_claim, backup_rows
from manip_dyn.studies.fan2003.decoupled import (
    decoupled_arm,
    decoupled_rows,
    switching_cases,
    switching_chart,
    switching_rows,
)
from manip_dyn.studies.fan2003.findings import PUBLISHED, Fan2003
from manip_dyn.studies.fan2003.motions import (
    CaseFindings,
    PeakRow,
    Trace,
    by_full_grid,
    by_grid,
    by_rule,
    costates,
    half_unit,
    link_energies,
    minimum_time,
    pd_control,
    peak_row,
    planning_times,
    single_switch,
    trace,
)
from manip_dyn.studies.fan2003.musn import (
    BoundaryValueProblem,
    MusnRow,
    musn_claims,
    musn_rows,
    printed_guesses,
)
from manip_dyn.studies.fan2003.replay import (
    Printed,
    arrives_rounded,
    controlled,
    literal,
    printed,
    spread,
)
from manip_dyn.studies.fan2003.settings import Arm, Grid, Settings, build_arm
from manip_dyn.studies.fan2003.statements import (
    SettlingRow,
    settling_rows,
    settling_time,
    statement_claims,
)
from manip_dyn.studies.fan2003.verdicts import claims, with_status
from manip_dyn.studies.report.claims import Claim
from manip_dyn.studies.report.settings import read_settings

__all__ = [
    "Arm",
    "BoundaryValueProblem",
    "CASES",
    "Fan2003",
    "ITEMS",
    "PUBLISHED",
    "Settings",
    "backup_claim",
    "backup_rows",
    "build_arm",
    "claims",
    "controlled",
    "decoupled_arm",
    "link_energies",
    "literal",
    "pd_control",
    "printed",
    "printed_guesses",
    "recompute",
    "settling_time",
    "spread",
    "switching_cases",
]

CASES = tuple(PUBLISHED["cases"])


def item_of(case: str) -> str:
    """Return the item to which a case belongs, such as ``table5.3`` or ``section4.1``."""
    number = case.split()[0]
    return f"table{number}" if number[0] in "56" else f"section{number}"


ITEMS = (
    *dict.fromkeys(item_of(case) for case in CASES),
    "section3.1.3",
    "backup",
    "musn",
    "pd",
    "claims",
    "all",
)
NO_LOAD = 1e-9
"""Mass of an absent load, kg. A URDF requires a positive mass."""
LINK, INERTIA = "one_link_horizontal", 10.0
"""Name of the link of section 3.1.2, and its moment of inertia (kg m^2)."""
PERIOD = 1e-3
"""Maximum time between samples of a replay, s."""


def recompute(
    item: str = "all",
    settings: Settings | None = None,
    progress: Callable[[str], None] = lambda line: None,
) -> Fan2003:
    """Recompute an item of the thesis and return the findings.

    Args:
        item: One of `ITEMS`.
        settings: Settings of the study. Default: ``config/fan2003.yaml``.
        progress: Called with a line of text before each step.
    """
    settings = settings or read_settings("fan2003", Settings)
    robots: dict[str, Robot] = {}
    cases = []
    for name in (case for case in CASES if item in (item_of(case), "claims", "all")):
        progress(f"{item_of(name)}: {name}")
        arm = settings.cases[name].arm
        if arm not in robots:
            robots[arm] = build_arm(arm, settings.arms[arm])
        cases.append(with_status(_case(name, robots[arm], settings)))
    result = Fan2003(dict(setting(("manip_dyn", "numba", "numpy", "scipy"))), tuple(cases))
    if item in ("section3.1.3", "all"):
        progress("section3.1.3")
        result = _with_decoupled(result, settings)
    if item in ("backup", "claims", "all"):
        progress("backup")
        result = replace(result, backups=tuple(_backups(settings)))
    if item in ("musn", "claims", "all"):
        result = replace(result, shooting=tuple(_shooting(settings, progress)))
    if item in ("pd", "claims", "all"):
        progress("pd")
        result = replace(result, settling=tuple(_settling(settings)))
    if item in ("claims", "all"):
        judged = (
            *claims(cases),
            backup_claim(result.backups),
            *musn_claims(result.shooting),
            *_statements(result.settling, settings, progress),
        )
        result = replace(result, claims=judged)
    return result


def _shooting(settings: Settings, progress: Callable[[str], None]) -> Iterable[MusnRow]:
    """Yield the results of shooting from the printed guesses."""

    def arm(case: str) -> Robot:
        name = settings.cases[case].arm
        return build_arm(name, settings.arms[name])

    times = {name: case["minimum_time"]["t_final"] for name, case in PUBLISHED["cases"].items()}
    half = half_unit(PUBLISHED)
    return musn_rows(printed_guesses(PUBLISHED["musn"]), arm, times, half, progress)


def _settling(settings: Settings) -> Iterable[SettlingRow]:
    """Yield the settling times of every case with PD gains."""
    for name, gains in settings.pd.items():
        case = settings.cases[name]
        robot, start = build_arm(case.arm, settings.arms[case.arm]), np.array(case.start)
        plan = plan_zero_net_work(robot, start, np.zeros(robot.n))
        yield from settling_rows(
            name, robot, start, gains, settings.pd_search[name], settings.near, plan.t_final
        )


def _statements(
    rows: Sequence[SettlingRow], settings: Settings, progress: Callable[[str], None]
) -> Iterable[Claim]:
    """Yield the claims of `statements`, for the arms with two joints."""
    names = ("cylindrical", "ibm7535", "two_link_small", "two_link_large")
    arms = {name: build_arm(name, settings.arms[name]) for name in names}
    ranges = PUBLISHED["costate_ranges"]
    return statement_claims(rows, arms["ibm7535"], ranges, arms, settings.near, progress)


def _backups(settings: Settings) -> Iterable[BackupRow]:
    """Yield the disturbed executions of every case with PD gains."""
    for name, gains in settings.pd.items():
        case = settings.cases[name]
        arm = settings.arms[case.arm]
        heavier = build_arm(case.arm, replace(arm, load=settings.backup.load))
        robot, start = build_arm(case.arm, arm), np.array(case.start)
        plan = plan_zero_net_work(robot, start, np.zeros(robot.n))
        yield from backup_rows(name, plan, heavier, gains, settings.near, settings.backup.push)


def _with_decoupled(findings: Fan2003, settings: Settings) -> Fan2003:
    """Return the findings with the rows and the chart of sections 3.1.3 and 3.2."""
    arm = build_arm(LINK, settings.arms[LINK])
    numbers = (float(arm.tau_max[0]), INERTIA, 1.0, settings.off_switch)
    cases = switching_cases(*numbers)
    rows = [*decoupled_rows(settings.decoupled), *switching_rows(cases, *numbers)]
    return replace(findings, decoupled=tuple(rows), charts=(switching_chart(cases),))


def _case(name: str, robot: Robot, settings: Settings) -> CaseFindings:
    case, published = settings.cases[name], PUBLISHED["cases"][name]
    start, goal = np.array(case.start), np.zeros(robot.n)
    slow, fast = (
        plan_zero_net_work(robot, start, goal),
        plan_minimum_time(robot, start, goal, budget=None),
    )
    traces = [trace(robot, "zero net work", slow), trace(robot, "minimum time", fast)]
    pd, chapter = None, settings.grid.chapters.get(name[0])
    if name in settings.pd:
        published_time = published.get("pd", {}).get("t_final")
        pd, pd_trace = pd_control(robot, start, settings.pd[name], settings.near, published_time)
        traces.append(pd_trace)
    half = half_unit(published)
    q_switch = _printed_positions(published)
    grid = None
    if chapter is not None:
        grid = by_grid(slow, chapter, settings.near, settings.grid.window, settings.grid.trials)
    proof = fast.certificate
    assert proof is not None
    return CaseFindings(
        name=name,
        arm=case.arm,
        joints=robot.joint_names,
        units=tuple(robot.unit(i) for i in range(robot.n)),
        effort_units=tuple("N" if robot.unit(i) == "m" else "N m" for i in range(robot.n)),
        start=case.start,
        published=published,
        zero_net_work=single_switch(slow),
        as_published=by_rule(slow, settings.near),
        grid=grid,
        minimum_time=minimum_time(fast),
        pd=pd,
        controlled=None
        if q_switch is None
        else controlled(robot, start, goal, q_switch, settings.near, PERIOD),
        controlled_exactly=controlled(robot, start, goal, slow.q_switch, settings.near, PERIOD),
        arrives_rounded=q_switch is not None
        and arrives_rounded(robot, start, goal, q_switch, settings.near, half),
        printed=_printed(robot, start, goal, published),
        **_with_literal_laws(robot, start, q_switch, settings, half),
        full_grid=_full_grid(slow, chapter, settings),
        peaks=tuple(_peaks(name, robot, case.arm, traces[0], settings)),
        costates=costates(fast),
        cost=planning_times(robot, start, goal),
        traces=tuple(traces),
        switching=(proof.times, proof.switching),
        guessed_time=PUBLISHED["musn"]["guesses"][name]["t_final"] if name[0] == "6" else None,
    )


def _with_literal_laws(
    robot: Robot, start: Vector, q_switch: Vector | None, settings: Settings, half: float
) -> dict[str, Any]:
    """Return the motions under the holding laws of the thesis, which apply to two joints.

    The values are None for other arms, or without printed switching positions.
    """
    if q_switch is None or robot.n != 2:
        return {"literal": None, "tested_again": None, "spread": None}
    goal, near = np.zeros(2), settings.near
    return {
        "literal": literal(robot, start, goal, q_switch, near),
        "tested_again": literal(robot, start, goal, q_switch, near, latched=False),
        "spread": spread(robot, start, goal, q_switch, near, half, settings.late),
    }


def _full_grid(slow: Plan, chapter: Grid | None, settings: Settings) -> dict[str, Any] | None:
    """Return the result of the search over the whole grid, or None.

    The search requires a chapter with a grid, and a motion of a single joint.
    """
    if chapter is None or len(slow.moving_joints) != 1:
        return None
    return by_full_grid(slow, chapter, settings.near, settings.grid.full)


def _peaks(
    name: str, robot: Robot, arm: str, slow: Trace, settings: Settings
) -> Iterable[PeakRow]:
    axes = PUBLISHED["cases"][name].get("work_axis", [None] * robot.n)
    unloaded: list[float | None] = [None] * robot.n
    if name[0] == "6":
        light = build_arm(arm, replace(settings.arms[arm], load=NO_LOAD))
        unloaded = link_energies(light, slow.q, slow.v).max(axis=0).tolist()
    for k, peak in enumerate(slow.work.max(axis=0).tolist()):
        yield peak_row(name, k + 1, axes[k], peak, unloaded[k])


def _printed_positions(published: dict[str, Any]) -> Vector | None:
    """Return the printed switching positions (n,), NaN for joints at rest, or None if absent."""
    positions = published["zero_net_work"].get("q_switch")
    if positions is None:
        return None
    return np.array([np.nan if position is None else position for position in positions])


def _printed(
    robot: Robot, start: Vector, goal: Vector, published: dict[str, Any]
) -> Printed | None:
    motion = published["minimum_time"]
    if "switch_times" not in motion:
        return None
    half = half_unit(published)
    return printed(robot, start, goal, motion["switch_times"], motion["t_final"], half)
