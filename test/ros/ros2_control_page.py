"""The tables of docs/ros2_control_runs.md, from the stored outcomes of its runs."""

from __future__ import annotations

BEGIN, END = "<!-- runs -->\n", "<!-- end of runs -->\n"
TRAJECTORIES = (
    "commands",
    "rate, Hz",
    "goals",
    "largest error, rad",
    "final error, rad",
    "tolerance of path, of goal",
    "cancelled",
    "deactivated",
    "manager killed",
    "highest speed after the kill, rad/s",
    "real time",
)
EFFORTS = (
    "rate, Hz",
    "drift in 2 s of holding, rad",
    "displacement in 2 s without publisher, rad",
    "manager killed",
    "real time",
)


def updated_page(page: str, data: dict) -> str:
    """Return the page with new tables between its two marks."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + tables(data) + END + rest.split(END)[1]


def tables(data: dict) -> str:
    """Return the tables of trajectories and of efforts."""
    runs = data["runs"].values()
    trajectories = [_trajectory_row(run) for run in runs if "goals" in run["cases"]]
    efforts = [_effort_row(run) for run in runs if "held" in run["cases"]]
    return _table(TRAJECTORIES, trajectories) + "\n" + _table(EFFORTS, efforts)


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
        commands + (", no gains" if run["edited"] else ""),
        f"{run['rate']}",
        f"{sum(goal['status'] == 'succeeded' for goal in goals)} of {len(goals)} succeeded",
        _largest(goals, "largest_error"),
        _largest(goals, "final_error"),
        ", ".join(f"{answer['status']} ({answer['error_code']})" for answer in wrong.values()),
        _rest(cases.get("cancelled")),
        _rest(cases.get("deactivated")),
        _rest(killed),
        f"{killed['fastest_after']:.2g}" if killed else "",
        f"{run['lowest_real_time_share']:.2f}",
    )


def _effort_row(run):
    held = run["cases"]["held"]
    moved = f"{held['moved_in_silence']:.2g}"
    killed = _rest(run["cases"].get("killed"))
    share = f"{run['lowest_real_time_share']:.2f}"
    return f"{run['rate']}", f"{held['drift']:.1g}", moved, killed, share


def _largest(rows, key):
    values = [row[key] for row in rows if row[key] is not None]
    return f"{max(values):.2g}" if values else "NaN"


def _rest(case):
    """Return the speed before an event, and the time from it until the arm is at rest."""
    return f"{case['speed']:.2f} rad/s, {case['rest_after_s']:.3f} s" if case else ""
