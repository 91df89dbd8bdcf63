"""Charts of a case of fan2003: motions, efforts, switching functions, work on the links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from manip_dyn.core.checks import Vector
from manip_dyn.studies.fan2003.cases import CaseFindings, Trace
from manip_dyn.studies.report.charts import Chart, Line, Panel

STYLES = {"zero net work": (0, "-"), "minimum time": (3, "--"), "PD": (2, "-.")}
TIME = "time [s]"


def case_charts(case: CaseFindings, stem: str) -> Iterable[Chart]:
    """Return the charts of a case; their names begin with `stem`."""
    plans = [each for each in case.traces if each.label != "PD"]
    yield _motion(case, plans, f"{stem}_motion", switching=True)
    yield _work(case, plans, f"{stem}_work")
    if len(case.joints) == 1:
        yield _costates(case, f"{stem}_costates")
    if len(plans) < len(case.traces):
        yield _motion(case, case.traces, f"{stem}_pd", switching=False)


def _motion(case: CaseFindings, traces: Sequence[Trace], name: str, switching: bool) -> Chart:
    """Return positions, velocities, efforts and switching functions, a column per joint."""
    joints = range(len(case.joints))
    rows = [
        [
            _panel(case.joints[i], f"position [{case.units[i]}]", _lines(traces, "q", i))
            for i in joints
        ],
        [_panel("", f"velocity [{case.units[i]}/s]", _lines(traces, "v", i)) for i in joints],
        [_panel("", f"effort [{case.effort_units[i]}]", _lines(traces, "tau", i)) for i in joints],
    ]
    if switching:
        rows.append([_switching(case, i) for i in joints])
    panels = tuple(panel for row in rows for panel in row)
    height = 2.0 * len(rows) + 0.8
    return _chart(case, name, "positions, velocities, efforts", panels, height)


def _costates(case: CaseFindings, name: str) -> Chart:
    """Return the costates of the minimum-time motion: figures 3.4, 4.13, 4.19."""
    times, values = case.costates
    labels = ("of the position", "of the velocity")
    lines = tuple(
        Line(labels[k], _floats(times), _floats(values[:, k]), k, "--" if k else "-")
        for k in range(2)
    )
    panel = _panel("", "costates [s/rad, s²/rad]", lines)
    return _chart(case, name, "costates of the minimum-time motion", (panel,), 3.6)


def _work(case: CaseFindings, traces: Sequence[Trace], name: str) -> Chart:
    """Return the work on each link, a column per link."""
    panels = tuple(
        _panel(
            f"link {i + 1}",
            "work [J]",
            tuple(_line(each, each.work_time, each.work[:, i]) for each in traces),
        )
        for i in range(len(case.joints))
    )
    return _chart(case, name, "work on each link", panels, 3.6)


def _switching(case: CaseFindings, joint: int) -> Panel:
    """Return the switching function of a joint's effort, and its zero line."""
    times, functions = case.switching
    color, style = STYLES["minimum time"]
    unit = case.effort_units[joint]
    label = f"switching function [1/{unit if unit == 'N' else '(N m)'}]"
    zero = Line("", (float(times[0]), float(times[-1])), (0.0, 0.0), None)
    found = Line("", _floats(times), _floats(functions[:, joint]), color, style)
    return _panel("", label, (found, zero))


def _lines(traces: Sequence[Trace], quantity: str, joint: int) -> tuple[Line, ...]:
    lines = []
    for each in traces:
        # The last effort of a plan is the goal's: what holds it there.
        end = -1 if quantity == "tau" and each.label != "PD" else len(each.time)
        lines.append(_line(each, each.time[:end], getattr(each, quantity)[:end, joint]))
    return tuple(lines)


def _line(trace: Trace, x: Vector, y: Vector) -> Line:
    return Line(trace.label, _floats(x), _floats(y), *STYLES[trace.label])


def _panel(title: str, label: str, lines: tuple[Line, ...]) -> Panel:
    return Panel(title, TIME, label, lines)


def _chart(
    case: CaseFindings, name: str, what: str, panels: tuple[Panel, ...], height: float
) -> Chart:
    n = len(case.joints)
    kind = "table" if case.name[0] in "56" else "section"
    title = f"Fan (2003), {kind} {case.name}: {what}"
    return Chart(name, title, panels, n, (4.6 * max(n, 1.3), height))


def _floats(values: Vector) -> tuple[float, ...]:
    return tuple(map(float, values))
