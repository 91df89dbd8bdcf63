"""The tables of docs/ros2_control_runs.md, from the stored outcomes of its runs."""

from __future__ import annotations

BEGIN, END = "<!-- runs -->\n", "<!-- end of runs -->\n"
TRAJECTORIES = (
    "commands",
    "rate, Hz",
    "goals",
    "largest error, rad",
    "error at the end, rad",
    "final error, rad",
    "tolerance of path, of goal",
    "cancelled",
    "deactivated",
    "manager killed",
    "highest speed after the kill, rad/s",
    "real time",
    "load",
)
SWITCHES = (
    "new controller",
    "goal",
    "speed at the switch, rad/s",
    "highest speed afterwards, rad/s",
    "time to rest, s",
    "distance to rest, rad",
    "state of the simulator",
)
EFFORTS = (
    "efforts to",
    "rate, Hz",
    "drift in 2 s of holding, rad",
    "displacement in 2 s without publisher, rad",
    "highest speed without publisher, rad/s",
    "manager killed or publisher stopped",
    "state of the simulator",
    "real time",
    "load",
)


def updated_page(page: str, data: dict) -> str:
    """Return the page with new tables between its two marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + tables(data) + END + rest.split(END)[1]


def tables(data: dict) -> str:
    """Return the tables of trajectories, switches and efforts."""
    runs = data["runs"].values()
    trajectories = [_trajectory_row(run) for run in runs if "goals" in run["cases"]]
    switches = [
        _switch_row(name, case)
        for run in runs
        for name, case in run["cases"].get("switched", {}).items()
    ]
    efforts = [_effort_row(run) for run in runs if run["command"] == "effort"]
    heads = ((TRAJECTORIES, trajectories), (SWITCHES, switches), (EFFORTS, efforts))
    return "\n".join(_table(head, rows) for head, rows in heads if rows)


def _table(head, rows):
    lines = [head, ("---",) * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _trajectory_row(run):
    cases = run["cases"]
    goals = cases["goals"]
    wrong = cases.get("violations", {})
    killed = cases.get("killed")
    commands = {"position": "positions, velocities", "velocity": "velocities"}[run["command"]]
    return (
        ", ".join(filter(None, (commands, run["variant"]))),
        f"{run['rate']}",
        f"{sum(goal['status'] == 'succeeded' for goal in goals)} of {len(goals)} succeeded",
        _largest(goals, "largest_error"),
        _largest(goals, "error_at_end"),
        _largest(goals, "final_error"),
        ", ".join(f"{answer['status']} ({answer['error_code']})" for answer in wrong.values()),
        _rest(cases.get("cancelled")),
        _rest(cases.get("deactivated")),
        _rest(killed),
        f"{killed['fastest_after']:.2g}" if killed else "",
        _share(run),
        _load(run),
    )


def _switch_row(name, case):
    return (
        name,
        f"{case['status']} ({case['error_code']})",
        f"{case['speed']:.2f}",
        f"{case['fastest_after']:.2f}",
        f"{case['rest_after_s']:.3f}",
        f"{case['distance']:.2g}",
        case["simulator"],
    )


def _effort_row(run):
    cases = run["cases"]
    held = cases.get("held", {})
    direct = cases.get("direct")
    target = "simulator" if direct else "controller"
    return (
        ", ".join(filter(None, (target, run["variant"]))),
        f"{run['rate']}",
        f"{held['drift']:.1g}" if held else "",
        f"{held['moved_in_silence']:.2g}" if held else "",
        f"{held['fastest_in_silence']:.2g}" if held else "",
        _rest(cases.get("killed", direct)),
        (held or direct)["simulator"],
        _share(run),
        _load(run),
    )


def _load(run):
    return f"{max(run['load']):.1f}"


def _share(run):
    share = run["lowest_real_time_share"]
    return "" if share is None else f"{share:.2f}"


def _largest(rows, key):
    values = [row[key] for row in rows if row[key] is not None]
    return f"{max(values):.2g}" if values else "NaN"


def _rest(case):
    """Return the speed before an event, and the time from it until the arm is at rest."""
    return f"{case['speed']:.2f} rad/s, {case['rest_after_s']:.3f} s" if case else ""
