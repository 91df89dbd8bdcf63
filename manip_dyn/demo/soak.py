"""`manip_dyn demo --soak`: an arm and its controller in real time for hours."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.core.checks import positive
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.yaml_file import read_yaml
from manip_dyn.demo.demo import Lines, Show, Silence
from manip_dyn.demo.scenarios import Run, Scenario, scenario
from manip_dyn.demo.supervisor import RunFailedError, isolate, perform

DEFAULT = "pa10_dynamic_circle"
WARM_UP = 0.2
"""Share of a run after which memory should not grow any more."""
BOUNDS = {"rate_error": 1e-4, "lost_states": 0, "memory_growth": 0.02}
"""Most that a good run has: of the rate, of states, and of memory after the warm-up."""
MIB = 1 / 1024


def soak(
    name: str | None, duration: float, begin: Callable[[str], Show], log: str | None = None
) -> dict[str, Any]:
    """Run a scenario's nodes in real time and return what was measured.

    Args:
        name: A scenario that has a simulator and runs in real time; None: the PA-10 on its circle.
        duration: Wall time, s.
        begin: Returns what shows how far the run of a title is.
        log: File for the samples of every second, as JSON, beside the summary.

    Raises:
        ManipDynError: If the scenario cannot be soaked, a node dies, or the file cannot be
            written.
    """
    positive("soak", duration)
    chosen = scenario(name or DEFAULT)
    found = next((run for run in chosen.runs if run.label == "real_time"), None)
    if found is None or chosen.nodes != ("simulator", "clik_tracker"):
        raise ManipDynError(
            f"scenario '{chosen.name}' has no tracked arm in real time; expected {DEFAULT}, or "
            "none for it"
        )
    measured = {"measure": "soak", "duration": float(duration), "period": period(chosen)}
    overrides = tuple(("monitor", key, str(value)) for key, value in measured.items())
    run = found._replace(overrides=found.overrides + overrides, timeout=duration + found.timeout)
    isolate()
    samples: list[dict[str, Any]] = []
    stolen_before = stolen()

    def watch(sample: dict[str, Any], processes: Mapping[str, int]) -> None:
        sample["memory_MiB"] = {each: memory(pid) for each, pid in processes.items()}
        sample["stolen_s"], sample["load"] = stolen() - stolen_before, os.getloadavg()[0]
        samples.append(sample)

    title = f"{chosen.name}: {chosen.nodes[0]} and its controller in real time for {duration:g} s"
    show = begin(title)
    try:
        summary = perform(chosen, run, show, watch)
    finally:
        show.close()
    result = {**about(chosen.name, run), **summary, **growth(samples)}
    result["stolen_s"] = samples[-1]["stolen_s"]
    result["out_of_bounds"] = [key for key, most in BOUNDS.items() if not result[key] <= most]
    result["success"] = not result["out_of_bounds"]
    if log is not None:
        _keep(log, {**result, "samples": samples})
    return result


def period(chosen: Scenario) -> float:
    """Return the time between joint states that the scenario's file gives its simulator, s."""
    content = read_yaml(chosen.params_file, lambda content: content)
    told = next(value for key, value in content.items() if key.endswith("/simulator"))
    return float(told["ros__parameters"]["control_period"])


def about(name: str, run: Run) -> dict[str, Any]:
    """Return what was run, and on what."""
    return {
        "scenario": name,
        "run": run.label,
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0)),
        "load_before": os.getloadavg()[0],
    }


def memory(pid: int) -> float:
    """Return the resident memory of a process, MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return MIB * float(next(line.split()[1] for line in lines if line.startswith("VmRSS")))


def stolen() -> float:
    """Return for how long the host of a virtual machine ran others instead, s, over all cores.

    It counts from the machine's start (`steal` of proc(5)). No process of the machine, whatever
    its priority, runs on a core in that time.
    """
    total = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    return int(total[8]) / os.sysconf("SC_CLK_TCK")


def growth(samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the memory of each node after the warm-up and at the end, and how fast it grew."""
    end = samples[-1]["time_s"]
    late = [each for each in samples if each["time_s"] >= WARM_UP * end]
    times = np.array([each["time_s"] for each in late]) / 3600.0
    result: dict[str, Any] = {"memory_growth": 0.0}
    for node in sorted(late[-1]["memory_MiB"]):
        sizes = np.array([each["memory_MiB"].get(node, np.nan) for each in late])
        slope = float(np.polyfit(times, sizes, 1)[0]) if len(late) > 1 else 0.0
        result[f"{node}_memory_MiB"] = [float(sizes[0]), float(sizes[-1])]
        result[f"{node}_memory_growth_MiB_per_h"] = slope
        result["memory_growth"] = max(result["memory_growth"], float(sizes[-1] / sizes[0]) - 1.0)
    return result


def _keep(log: str, content: dict[str, Any]) -> None:
    try:
        Path(log).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise ManipDynError(f"log '{log}' cannot be written: {error.strerror}") from error


def soak_command(
    name: str | None,
    duration: float,
    as_json: bool,
    log: str | None,
    progress: Callable[[str], Show] = Lines,
) -> int:
    """Run a soak, print what it found; return 0 if it stayed within its bounds."""
    try:
        result = soak(name, duration, (lambda _: Silence()) if as_json else progress, log)
    except RunFailedError as error:
        print(f"manip_dyn: soak: {error}")
        return 1
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        for key, value in result.items():
            shown = f"{value:.6g}" if isinstance(value, float) else str(value)
            bound = f"   (at most {BOUNDS[key]:g})" if key in BOUNDS else ""
            print(f"  {key:<42} {shown}{bound}")
    return 0 if result["success"] else 1
