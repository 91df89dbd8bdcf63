"""Run scenarios one after the other and report what was measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from typing import Any

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.demo.scenarios import ANY_ROBOT, SCENARIOS, Run, Scenario, scenario
from manip_dyn.demo.supervisor import RunFailedError, isolate, perform
from manip_dyn.demo.watching import check_viser, watched_run

REPORT_EVERY = 0.25
WATCHED = "ibm7535_minimum_time"
"""What is shown where no scenario is named."""


def demo(
    name: str | None,
    mode: str | None,
    as_json: bool,
    urdf: str | None = None,
    tip: str | None = None,
    everything: bool = False,
    view: bool = False,
) -> int:
    """Run scenarios, by default three headline runs; return 0 if all stayed within bounds.

    Args:
        name: Scenario, or None for the headline runs, or for all.
        mode: Label of the only run to perform, or None for all.
        as_json: Print one JSON object instead of progress and a table.
        urdf: Robot for a scenario that takes any.
        tip: Its tool link.
        everything: Whether all runs of all scenarios are meant where none is named.
        view: Show one run on a page in the browser, until Ctrl-C.
    """
    if urdf is not None and name is None:
        raise ManipDynError(f"a URDF is given without a scenario; expected {ANY_ROBOT}")
    if view:
        check_viser()
        name = name or WATCHED
        mode = mode or watched_run(scenario(name))
    chosen = SCENARIOS if name is None else (scenario(name),)
    _check_mode(mode, chosen)
    isolate()
    summaries: dict[str, dict[str, Any]] = {}
    for plain in chosen:
        usual = [run.label for run in plain.runs if run.headline or name or everything]
        labels = usual if mode is None else [mode]
        if not any(run.label in labels for run in plain.runs):
            continue
        each = plain.with_robot(urdf, tip)
        for run in each.runs:
            if run.label in labels:
                summary = _perform(each, run, as_json, view)
                summaries.setdefault(each.name, {})[run.label] = summary
    success = all(run["success"] for runs in summaries.values() for run in runs.values())
    if as_json:
        print(json.dumps({"success": success, "scenarios": summaries}, indent=2))
    else:
        print(
            "all runs stayed within their bounds" if success else "a run failed or left its bounds"
        )
        if name is None and mode is None and not everything:
            print(_more(summaries))
    return 0 if success else 1


def _more(shown: Collection[str]) -> str:
    """Return how to see what was not shown."""
    others = ", ".join(each.name for each in SCENARIOS if each.name not in shown)
    return (
        f"\nThere is more: {others}.\nOne of them: manip_dyn demo NAME (make demo ARGS=NAME); "
        "every run of all: manip_dyn demo --all (make demo ARGS=--all)"
    )


def _check_mode(mode: str | None, chosen: tuple[Scenario, ...]) -> None:
    labels = [run.label for each in chosen for run in each.runs]
    if mode is not None and mode not in labels:
        raise ManipDynError(f"mode '{mode}' is unknown{closest(mode, labels)}")


def _perform(each: Scenario, run: Run, quiet: bool, view: bool) -> dict[str, Any]:
    show = _silence if quiet else _Progress(f"{each.name} / {run.label}: {run.title}")
    try:
        summary = perform(each, run, show, view=view)
    except RunFailedError as error:
        print(f"manip_dyn: {each.name} / {run.label}: {error}", file=sys.stderr)
        return {"success": False, "reason": str(error)}
    beyond = [key for key, bound in run.bounds.items() if not summary[key] <= bound]
    if not quiet:
        _print_table(summary, run.bounds)
    return {"success": not beyond, "out_of_bounds": beyond, **summary}


class _Progress:
    """A growing line on a terminal, a line per quarter elsewhere."""

    def __init__(self, title: str):
        print(f"\n{title}", flush=True)
        self._next = REPORT_EVERY
        self._live = sys.stdout.isatty()

    def __call__(self, fraction: float) -> None:
        if self._live:
            bar = "#" * round(30 * fraction)
            end = "\n" if fraction >= 1.0 else ""
            print(f"\r  [{bar:<30}] {100 * fraction:3.0f} %", end=end, flush=True)
        elif fraction >= self._next:
            print(f"  {100 * fraction:3.0f} %", flush=True)
            self._next = (fraction // REPORT_EVERY + 1) * REPORT_EVERY


def _silence(_fraction: float) -> None:
    """Show nothing."""


def _print_table(summary: dict[str, Any], bounds: dict[str, float]) -> None:
    for key, value in summary.items():
        shown = f"{value:.6g}" if isinstance(value, float) else str(value)
        bound = f"   (at most {bounds[key]:g})" if key in bounds else ""
        print(f"  {key:<30} {shown}{bound}")
