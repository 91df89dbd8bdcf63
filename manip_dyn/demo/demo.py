"""Run scenarios one after the other and report what was measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any, Protocol

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.extras import check_installed
from manip_dyn.demo.scenarios import ANY_ROBOT, SCENARIOS, Run, Scenario, scenario
from manip_dyn.demo.supervisor import RunFailedError, isolate, perform
from manip_dyn.demo.watching import watched_run
from manip_dyn.recording.recorder import check_new

REPORT_EVERY = 0.25
WATCHED = "ibm7535_minimum_time"
"""What is shown where no scenario is named."""


class Show(Protocol):
    """Shows how far a run is."""

    def __call__(self, fraction: float) -> None:
        """Show a part of 1."""

    def close(self) -> None:
        """Leave it as it is."""


def demo(
    name: str | None,
    mode: str | None,
    as_json: bool,
    urdf: str | None = None,
    tip: str | None = None,
    everything: bool = False,
    view: bool = False,
    record: str | None = None,
    progress: Callable[[str], Show] | None = None,
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
        record: MCAP file for all messages of a run; with several runs, one for each, whose names
            end in scenario and run.
        progress: Returns what shows how far the run of a title is; None: a line per quarter.
    """
    if urdf is not None and name is None:
        raise ManipDynError(f"a URDF is given without a scenario; expected {ANY_ROBOT}")
    if view:
        check_installed(("viser",), "viewing needs", "view")
        name = name or WATCHED
        mode = mode or watched_run(scenario(name))
    chosen = SCENARIOS if name is None else (scenario(name),)
    _check_mode(mode, chosen)
    runs = [
        (each.with_robot(urdf, tip), run.label)
        for each in chosen
        for run in each.runs
        if run.label == mode or (mode is None and (run.headline or name or everything))
    ]
    jobs = []
    for each, label in runs:
        run = next(run for run in each.runs if run.label == label)
        file = _file_of(record, each, run) if record and len(runs) > 1 else record
        if file:
            check_new(file)
        jobs.append((each, run, file))
    isolate()
    summaries: dict[str, dict[str, Any]] = {}
    for each, run, file in jobs:
        summaries.setdefault(each.name, {})[run.label] = _perform(
            each, run, as_json, file, progress or Lines, view
        )
        if file and not as_json:
            print(f"  {'recording':<30} {file}")
    success = all(run["success"] for run in _all(summaries))
    if as_json:
        print(json.dumps({"success": success, "scenarios": summaries}, indent=2))
    else:
        print(
            "all runs stayed within their bounds" if success else "a run failed or left its bounds"
        )
        if name is None and mode is None and not everything:
            print(_more(summaries))
    lost = [run["recording_failed"] for run in _all(summaries) if "recording_failed" in run]
    if lost:
        raise ManipDynError(lost[0])
    return 0 if success else 1


def _all(summaries: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the summaries of all runs."""
    for runs in summaries.values():
        yield from runs.values()


def _file_of(record: str, each: Scenario, run: Run) -> str:
    """Return the file for one of several runs."""
    file = Path(record)
    return str(file.with_name(f"{file.stem}-{each.name}-{run.label}{file.suffix}"))


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


def _perform(
    each: Scenario,
    run: Run,
    quiet: bool,
    record: str | None,
    begin: Callable[[str], Show],
    view: bool,
) -> dict[str, Any]:
    show = Silence() if quiet else begin(f"\n{each.name} / {run.label}: {run.title}")
    try:
        summary = perform(each, run, show, record=record, view=view)
    except RunFailedError as error:
        print(f"manip_dyn: {each.name} / {run.label}: {error}", file=sys.stderr)
        return {"success": False, "reason": str(error), **error.recorded}
    finally:
        show.close()
    beyond = [key for key, bound in run.bounds.items() if not summary[key] <= bound]
    if not quiet:
        _print_table(summary, run.bounds)
    return {"success": not beyond, "out_of_bounds": beyond, **summary}


class Lines:
    """A line per quarter of a run."""

    def __init__(self, title: str):
        """Say what runs."""
        print(title, flush=True)
        self._next = REPORT_EVERY

    def __call__(self, fraction: float) -> None:
        """Say how far it is."""
        if fraction >= self._next:
            print(f"  {100 * fraction:3.0f} %", flush=True)
            self._next = (fraction // REPORT_EVERY + 1) * REPORT_EVERY

    def close(self) -> None:
        """End nothing."""


class Silence:
    """Nothing: what programs read has no bars."""

    def __call__(self, fraction: float) -> None:
        """Show nothing."""

    def close(self) -> None:
        """End nothing."""


def _print_table(summary: dict[str, Any], bounds: dict[str, float]) -> None:
    for key, value in summary.items():
        shown = f"{value:.6g}" if isinstance(value, float) else str(value)
        bound = f"   (at most {bounds[key]:g})" if key in bounds else ""
        print(f"  {key:<30} {shown}{bound}")
