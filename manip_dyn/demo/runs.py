"""Implementation of `manip_dyn demo`: run scenarios or a soak test, and report measurements."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from manip_dyn.core.checks import positive
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import read_yaml
from manip_dyn.core.imports import check_installed
from manip_dyn.demo.processes import RunFailedError, isolate, perform_run, watched_run
from manip_dyn.demo.scenarios import ANY_ROBOT, SCENARIOS, Run, Scenario, scenario
from manip_dyn.recording.recorder import check_new

REPORT_EVERY = 0.25
VIEWED_SCENARIO = "ibm7535_minimum_time"
"""Default scenario with `--view`."""


class ProgressDisplay(Protocol):
    """Interface of a progress display."""

    def __call__(self, fraction: float) -> None:
        """Show the completed fraction of the run."""

    def close(self) -> None:
        """Finish the display."""


def demo(
    name: str | None,
    mode: str | None,
    as_json: bool,
    urdf: str | None = None,
    tip: str | None = None,
    everything: bool = False,
    view: bool = False,
    record: str | None = None,
    progress: Callable[[str], ProgressDisplay] | None = None,
) -> int:
    """Run scenarios; return 0 if all runs finish within their bounds, else 1.

    Args:
        name: Name of the scenario, or None for all scenarios.
        mode: Label of the runs to perform. Default: all runs of a named scenario, else the
            headline runs.
        as_json: Whether to print one JSON object instead of progress and a table.
        urdf: Path of a URDF, for the scenario that accepts any robot.
        tip: Name of the tool link of the URDF.
        everything: Whether to perform all runs of all scenarios if `name` and `mode` are None.
        view: Whether to show the nodes in the browser until Ctrl-C. The default scenario is then
            `VIEWED_SCENARIO`, and the default run that of `watched_run`.
        record: Path of an MCAP file for all messages. With several runs, each run writes a file,
            with scenario and run appended to the name.
        progress: Function that returns the progress display for a title. Default: `ProgressLines`.

    Raises:
        ManipDynError: If an argument is invalid or a recording failed.
    """
    if urdf is not None and name is None:
        raise ManipDynError(f"urdf requires the scenario {ANY_ROBOT}, got none.")
    if view:
        check_installed(("viser",), "viewing needs", "view")
        name = name or VIEWED_SCENARIO
        mode = mode or watched_run(scenario(name))
    chosen = SCENARIOS if name is None else (scenario(name),)
    _check_mode(mode, chosen)
    runs = [
        (selected.with_robot(urdf, tip), run.label)
        for selected in chosen
        for run in selected.runs
        if run.label == mode or (mode is None and (run.headline or name or everything))
    ]
    jobs = []
    for selected, label in runs:
        run = next(run for run in selected.runs if run.label == label)
        file = _file_of(record, selected, run) if record and len(runs) > 1 else record
        if file:
            check_new(file)
        jobs.append((selected, run, file))
    isolate()
    summaries: dict[str, dict[str, Any]] = {}
    for selected, run, file in jobs:
        summaries.setdefault(selected.name, {})[run.label] = _perform(
            selected, run, as_json, file, progress or ProgressLines, view
        )
        if file and not as_json:
            print(f"  {'recording':<30} {file}")
    success = all(run["success"] for run in _summaries(summaries))
    if as_json:
        print(json.dumps({"success": success, "scenarios": summaries}, indent=2))
    else:
        print(
            "all results are within their bounds"
            if success
            else "a run failed or exceeded its bounds"
        )
        if name is None and mode is None and not everything:
            print(_hint(summaries))
    lost = [run["recording_failed"] for run in _summaries(summaries) if "recording_failed" in run]
    if lost:
        raise ManipDynError(lost[0])
    return 0 if success else 1


def _summaries(summaries: dict[str, dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the summaries of all runs."""
    for runs in summaries.values():
        yield from runs.values()


def _file_of(record: str, selected: Scenario, run: Run) -> str:
    """Return the file of one of several recordings: `record` with scenario and run appended."""
    file = Path(record)
    return str(file.with_name(f"{file.stem}-{selected.name}-{run.label}{file.suffix}"))


def _hint(scenarios: Collection[str]) -> str:
    """Return a hint that lists all scenarios except those in `scenarios`."""
    names = ", ".join(item.name for item in SCENARIOS if item.name not in scenarios)
    return (
        f"\nOther scenarios: {names}.\nTo run one: manip_dyn demo NAME (make demo ARGS=NAME); "
        "to run all: manip_dyn demo --all (make demo ARGS=--all)"
    )


def _check_mode(mode: str | None, chosen: tuple[Scenario, ...]) -> None:
    labels = [run.label for selected in chosen for run in selected.runs]
    if mode is not None and mode not in labels:
        raise ManipDynError(
            f"mode must be a run of the scenario, got '{mode}'{closest(mode, labels)}"
        )


def _perform(
    selected: Scenario,
    run: Run,
    quiet: bool,
    record: str | None,
    begin: Callable[[str], ProgressDisplay],
    view: bool,
) -> dict[str, Any]:
    show = NoProgress() if quiet else begin(f"\n{selected.name} / {run.label}: {run.title}")
    try:
        summary = perform_run(selected, run, show, record=record, view=view)
    except RunFailedError as error:
        print(f"manip_dyn: {selected.name} / {run.label}: {error}", file=sys.stderr)
        return {"success": False, "reason": str(error), **error.recorded}
    finally:
        show.close()
    beyond = [key for key, bound in run.bounds.items() if not summary[key] <= bound]
    if not quiet:
        _print_table(summary, run.bounds)
    return {"success": not beyond, "out_of_bounds": beyond, **summary}


class ProgressLines:
    """Progress display that prints at most one line per quarter of a run."""

    def __init__(self, title: str):
        """Print the title of the run."""
        print(title, flush=True)
        self._next = REPORT_EVERY

    def __call__(self, fraction: float) -> None:
        """Print the progress if a further quarter is completed."""
        if fraction >= self._next:
            print(f"  {100 * fraction:3.0f} %", flush=True)
            self._next = (fraction // REPORT_EVERY + 1) * REPORT_EVERY

    def close(self) -> None:
        """Do nothing."""


class NoProgress:
    """Progress display without output, for JSON."""

    def __call__(self, fraction: float) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _print_table(summary: dict[str, Any], bounds: dict[str, float]) -> None:
    for key, value in summary.items():
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        bound = f"   (at most {bounds[key]:g})" if key in bounds else ""
        print(f"  {key:<30} {text}{bound}")


SOAK_SCENARIO = "pa10_dynamic_circle"
WARM_UP = 0.2
"""Fraction of a soak after which memory growth is measured."""
SOAK_BOUNDS = {"rate_error": 1e-4, "lost_states": 0, "memory_growth": 0.02}
"""Upper bounds of a successful soak; memory growth is relative, after the warm-up."""
MIB = 1 / 1024


def soak(
    name: str | None,
    duration: float,
    begin: Callable[[str], ProgressDisplay],
    log: str | None = None,
) -> dict[str, Any]:
    """Run a soak test: run the nodes of a scenario in real time and return the measurements.

    Args:
        name: A scenario with simulator, tracker and a real-time run. Default: the PA-10 circle.
        duration: Duration in wall time, s.
        begin: Function that returns the progress display for a title.
        log: Path of a JSON file for the summary and the samples of the monitor.

    Raises:
        ManipDynError: If the duration or the scenario is not suitable, a node exits, the time
            limit elapses, or the file cannot be written.
    """
    positive("soak", duration)
    chosen = scenario(name or SOAK_SCENARIO)
    real_time = next((run for run in chosen.runs if run.label == "real_time"), None)
    if real_time is None or chosen.nodes != ("simulator", "clik_tracker"):
        raise ManipDynError(
            f"soak must have a scenario with a tracked arm in real time such as {SOAK_SCENARIO}, "
            f"got '{chosen.name}'."
        )
    measured = {"measure": "soak", "duration": float(duration), "period": control_period(chosen)}
    overrides = tuple(("monitor", key, str(value)) for key, value in measured.items())
    timeout = duration + real_time.timeout
    run = real_time._replace(overrides=real_time.overrides + overrides, timeout=timeout)
    isolate()
    samples: list[dict[str, Any]] = []
    stolen_before = stolen_time()

    def watch(sample: dict[str, Any], processes: Mapping[str, int]) -> None:
        sample["memory_MiB"] = {node: resident_memory(pid) for node, pid in processes.items()}
        sample["stolen_s"], sample["load"] = stolen_time() - stolen_before, os.getloadavg()[0]
        samples.append(sample)

    title = f"{chosen.name}: {chosen.nodes[0]} and its controller in real time for {duration:g} s"
    show = begin(title)
    try:
        summary = perform_run(chosen, run, show, watch)
    finally:
        show.close()
    result = {**run_conditions(chosen.name, run), **summary, **memory_growth(samples)}
    result["stolen_s"] = samples[-1]["stolen_s"]
    result["out_of_bounds"] = [key for key, most in SOAK_BOUNDS.items() if not result[key] <= most]
    result["success"] = not result["out_of_bounds"]
    if log is not None:
        _write_log(log, {**result, "samples": samples})
    return result


def control_period(chosen: Scenario) -> float:
    """Return the control period (s) of the simulator from the scenario's parameter file."""
    content = read_yaml(chosen.params_file, lambda content: content)
    simulator = next(value for key, value in content.items() if key.endswith("/simulator"))
    return float(simulator["ros__parameters"]["control_period"])


def run_conditions(name: str, run: Run) -> dict[str, Any]:
    """Return the conditions of a run: names, Python version, cores and load."""
    return {
        "scenario": name,
        "run": run.label,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "load_before": os.getloadavg()[0],
    }


def resident_memory(pid: int) -> float:
    """Return the resident memory of a process in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return MIB * float(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


def stolen_time() -> float:
    """Return the steal time (s) of a virtual machine since its start, summed over all cores.

    During steal time, the host runs no process of the machine on a core, independent of
    priorities (see `steal` in proc(5)).
    """
    total = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(total[8]) / os.sysconf("SC_CLK_TCK")


def memory_growth(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the memory of each node after the warm-up and at the end, and its growth rate.

    The entry ``memory_growth`` is the largest relative growth of a node, or 0 if none has grown.
    """
    end = samples[-1]["time_s"]
    late = [sample for sample in samples if sample["time_s"] >= WARM_UP * end]
    times = np.array([sample["time_s"] for sample in late]) / 3600.0
    result: dict[str, Any] = {"memory_growth": 0.0}
    for node in sorted(late[-1]["memory_MiB"]):
        sizes = np.array([sample["memory_MiB"].get(node, np.nan) for sample in late])
        slope = float(np.polyfit(times, sizes, 1)[0]) if len(late) > 1 else 0.0
        result[f"{node}_memory_MiB"] = [float(sizes[0]), float(sizes[-1])]
        result[f"{node}_memory_growth_MiB_per_h"] = slope
        result["memory_growth"] = max(result["memory_growth"], float(sizes[-1] / sizes[0]) - 1.0)
    return result


def _write_log(log: str, content: dict[str, Any]) -> None:
    try:
        Path(log).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise ManipDynError(f"log '{log}' cannot be written: {error.strerror}.") from error


def soak_command(
    name: str | None,
    duration: float,
    as_json: bool,
    log: str | None,
    progress: Callable[[str], ProgressDisplay] = ProgressLines,
) -> int:
    """Run `soak` and print the result; return 0 if the test finishes within its bounds, else 1."""
    try:
        result = soak(name, duration, (lambda _: NoProgress()) if as_json else progress, log)
    except RunFailedError as error:
        print(f"manip_dyn: soak: {error}")
        return 1
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        for key, value in result.items():
            text = f"{value:.6g}" if isinstance(value, float) else str(value)
            bound = f"   (at most {SOAK_BOUNDS[key]:g})" if key in SOAK_BOUNDS else ""
            print(f"  {key:<42} {text}{bound}")
    return 0 if result["success"] else 1
