"""Charts of a case of fan2003: motions, efforts, switching functions, work on the links."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from manip_dyn.plots import figure_type
from manip_dyn.studies.fan2003_findings import CaseFindings, Trace
from manip_dyn.studies.fan2003_report import file_stem

STYLES = {
    "zero net work": ("C0", "-"),
    "minimum time": ("C3", "--"),
    "PD": ("C2", "-."),
}


def draw(case: CaseFindings, folder: Path) -> list[Path]:
    """Write the charts as PNG and SVG; return the files."""
    plans = [each for each in case.traces if each.label != "PD"]
    charts = [("motion", _motion(case, plans, switching=True)), ("work", _work(case, plans))]
    if len(plans) < len(case.traces):
        charts.append(("pd", _motion(case, case.traces, switching=False)))
    files = []
    for name, picture in charts:
        for kind in ("png", "svg"):
            files.append(folder / f"{file_stem(case)}_{name}.{kind}")
            picture.savefig(files[-1], dpi=130)
    return files


def _motion(case: CaseFindings, traces: Any, switching: bool) -> Any:
    """Draw positions, velocities, efforts and switching functions, a column per joint."""
    n, rows = len(case.joints), 4 if switching else 3
    picture = _picture(case, "positions, velocities, efforts", n, 2.0 * rows + 0.8)
    axes = picture.subplots(rows, n, sharex=True, squeeze=False)
    for i, joint in enumerate(case.joints):
        unit, effort = case.units[i], case.effort_units[i]
        axes[0, i].set_title(joint, fontsize=10)
        for trace in traces:
            color, line = STYLES[trace.label]
            style = {"color": color, "linestyle": line, "linewidth": 1.4, "label": trace.label}
            for row, values in enumerate((trace.q, trace.v, trace.tau)):
                shown = _until_arrival(trace) if row == 2 else slice(None)
                axes[row, i].plot(trace.time[shown], values[shown, i], **style)
        if switching:
            times, functions = case.switching
            axes[3, i].plot(times, functions[:, i], color="C3", linestyle="--", linewidth=1.4)
            axes[3, i].axhline(0.0, color="grey", linewidth=0.8)
        labels = (f"position [{unit}]", f"velocity [{unit}/s]", f"effort [{effort}]")
        for row, label in enumerate(
            (*labels, f"switching function [1/{effort if effort == 'N' else '(N m)'}]")[:rows]
        ):
            axes[row, i].set_ylabel(label, fontsize=9)
    _finish(picture, axes)
    return picture


def _work(case: CaseFindings, traces: Any) -> Any:
    """Draw the work on each link, a column per link."""
    n = len(case.joints)
    picture = _picture(case, "work on each link", n, 3.6)
    axes = picture.subplots(1, n, sharex=True, squeeze=False)
    for i in range(n):
        axes[0, i].set_title(f"link {i + 1}", fontsize=10)
        axes[0, i].set_ylabel("work [J]", fontsize=9)
        for trace in traces:
            color, line = STYLES[trace.label]
            axes[0, i].plot(
                trace.work_time, trace.work[:, i], color=color, linestyle=line, label=trace.label
            )
    _finish(picture, axes)
    return picture


def _until_arrival(trace: Trace) -> slice:
    """Leave out the last sample of a plan's efforts: the goal's."""
    return slice(None) if trace.label == "PD" else slice(None, -1)


def _picture(case: CaseFindings, what: str, n: int, height: float) -> Any:
    picture = figure_type()(figsize=(4.6 * max(n, 1.3), height), layout="constrained")
    kind = "table" if case.name[0] in "56" else "section"
    picture.suptitle(f"Fan (2003), {kind} {case.name}: {what}", fontsize=10)
    return picture


def _finish(picture: Any, axes: Any) -> None:
    for row in axes:
        for each in row:
            each.grid(alpha=0.3)
            each.tick_params(labelsize=8)
    for each in axes[-1]:
        each.set_xlabel("time [s]", fontsize=9)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
