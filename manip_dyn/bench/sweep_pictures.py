"""Aggregate and plot the shipped sweeps: ``python -m manip_dyn.bench.sweep_pictures FOLDER ...``.

Each FOLDER contains the results of a sweep and is named ``ibm7535_mass_error_sweep`` or
``ibm7535_goals_sweep``. The program writes ``benchmarks/sweeps/NAME.json`` and
``docs/pictures/NAME.png``, where NAME is the name of the folder without ``_sweep``.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.ensembles.sweeps import SweepResult, read_sweep
from manip_dyn.plots import figure_type

BINS = 55
"""Number of bins of the mass factors."""
METHODS = {"zero_net_work": "tab:blue", "minimum_time": "tab:orange", "pd": "tab:green"}


# --------------------------------------------------------------------------------- wrong masses
def mass_error(result: SweepResult) -> dict[str, Any]:
    """Return arrival rates and median arrival times of each method, binned by mass factor."""
    factor, method = result.column("mass_scale"), result.column("method")
    arrival, arrived = result.column("arrival_time"), result.column("success")
    edges = np.linspace(factor.min(), factor.max(), BINS + 1)
    content: dict[str, Any] = {"edges": np.round(edges, 6).tolist(), "methods": {}}
    for name in METHODS:
        own = method == name
        index = np.clip(np.digitize(factor[own], edges) - 1, 0, BINS - 1)
        bins = [np.flatnonzero(index == k) for k in range(BINS)]
        content["methods"][name] = {
            "cases": int(own.sum()),
            "arrived": int(arrived[own].sum()),
            "always_arrives": around_one(factor[own], arrived[own]),
            "share": [_rounded(np.mean(arrived[own][k]) if k.size else None) for k in bins],
            "arrival_time": [_median(arrival[own][k]) for k in bins],
        }
    return content


def around_one(factor: np.ndarray, arrived: np.ndarray) -> list[float]:
    """Return the limits of the range of factors around 1 in which all arms arrived.

    The list is empty if no arm arrived in this range.
    """
    missed = factor[~arrived]
    below, above = missed[missed < 1.0], missed[missed >= 1.0]
    inside = factor[arrived]
    inside = inside[inside > (below.max() if below.size else -np.inf)]
    inside = inside[inside < (above.min() if above.size else np.inf)]
    return [_rounded(value) for value in (inside.min(), inside.max())] if inside.size else []


def draw_mass_error(content: dict[str, Any], file: Path) -> None:
    """Plot arrival times and arrival rates over the mass factor."""
    figure = figure_type()(figsize=(7.5, 4.6), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    middles = 0.5 * (np.array(content["edges"][1:]) + content["edges"][:-1])
    for name, results in content["methods"].items():
        times = np.array(results["arrival_time"], dtype=float)
        upper.plot(middles, times, ".-", color=METHODS[name], label=name)
        shares = np.array(results["share"], dtype=float)
        lower.plot(middles, 100.0 * shares, color=METHODS[name], drawstyle="steps-mid")
    upper.set(title="IBM 7535 in closed loop, planned for a factor of 1", ylabel="arrival [s]")
    upper.legend()
    lower.set(xlabel="factor of the masses", ylabel="arrived [%]", ylim=(-5, 105))
    for axes in (upper, lower):
        axes.axvline(1.0, color="grey", lw=0.8)
        axes.grid(alpha=0.3)
    figure.savefig(file, dpi=90)


# ---------------------------------------------------------------------------------------- goals
def goals(result: SweepResult) -> dict[str, Any]:
    """Return durations and statuses of both planners for all goals, and the excess durations."""
    method, time = result.column("method"), result.column("t_final")
    shoulder, elbow = result.column("goal_shoulder"), result.column("goal_elbow")
    success = result.column("success")
    axes = [np.unique(angles) for angles in (shoulder, elbow)]
    shape = tuple(len(axis) for axis in axes)
    content: dict[str, Any] = {
        "goal_shoulder": np.round(axes[0], 9).tolist(),
        "goal_elbow": np.round(axes[1], 9).tolist(),
        "methods": {},
    }
    times = {}
    for name in ("zero_net_work", "minimum_time"):
        own = method == name
        times[name] = np.where(success[own], time[own], np.nan).reshape(shape)
        content["methods"][name] = {
            "cases": int(own.sum()),
            "statuses": _counted(result, own),
            "t_final": [[_rounded(t) for t in row] for row in times[name]],
        }
    more = _more(times["zero_net_work"], times["minimum_time"])
    defined = more[np.isfinite(more)]
    content["more_than_minimum_time"] = {
        "goals": defined.size,
        "median": _rounded(np.median(defined)),
        "most": _rounded(defined.max()),
    }
    return content


def draw_goals(content: dict[str, Any], file: Path) -> None:
    """Plot maps of both durations, and of the relative excess duration of zero net work."""
    times = [
        np.array(content["methods"][name]["t_final"], dtype=float)
        for name in ("zero_net_work", "minimum_time")
    ]
    maps = [*times, 100.0 * _more(*times)]
    titles = ("zero net work [s]", "minimum time [s]", "longer by [%]")
    figure = figure_type()(figsize=(9.0, 4.6), layout="constrained")
    x, y = content["goal_shoulder"], content["goal_elbow"]
    longest = float(np.nanmax(times))
    for axes, values, title in zip(figure.subplots(1, 3, sharey=True), maps, titles, strict=True):
        most = longest if title in titles[:2] else None
        drawn = axes.pcolormesh(x, y, values.T, vmin=0.0, vmax=most, shading="nearest")
        axes.set(title=title, xlabel="goal of the shoulder [rad]", facecolor="lightgrey")
        figure.colorbar(drawn, ax=axes)
        if axes is figure.axes[0]:
            axes.set_ylabel("goal of the elbow [rad]")
    figure.savefig(file, dpi=90)


def _more(longer: np.ndarray, shortest: np.ndarray) -> np.ndarray:
    """Return the relative excess of `longer` over `shortest`, or NaN where it is undefined."""
    return np.where(shortest > 0.0, longer / np.where(shortest > 0.0, shortest, 1.0) - 1.0, np.nan)


def _counted(result: SweepResult, own: np.ndarray) -> dict[str, int]:
    names, counts = np.unique(result.column("status")[own], return_counts=True)
    return {str(name): int(count) for name, count in zip(names, counts, strict=True)}


def _median(values: np.ndarray) -> float | None:
    defined = values[np.isfinite(values)]
    return _rounded(np.median(defined)) if defined.size else None


def _rounded(value: Any) -> Any:
    return None if value is None or not np.isfinite(value) else round(float(value), 6)


SWEEPS: dict[str, tuple[Callable[[SweepResult], dict[str, Any]], Callable[..., None]]] = {
    "ibm7535_mass_error": (mass_error, draw_mass_error),
    "ibm7535_goals": (goals, draw_goals),
}


def keep(folder: Path, root: Path) -> Path:
    """Write the numbers and the picture of a sweep; return the path of the numbers."""
    name = folder.name.removesuffix("_sweep")
    if name not in SWEEPS:
        hint = closest(name, SWEEPS)
        raise ManipDynError(f"folder must be named after a shipped sweep, got '{name}'{hint}")
    aggregate, draw = SWEEPS[name]
    content = aggregate(read_sweep(folder))
    file = root / "benchmarks" / "sweeps" / f"{name}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(content) + "\n", encoding="utf-8")
    draw(content, root / "docs" / "pictures" / f"{name}.png")
    return file


if __name__ == "__main__":
    for folder in sys.argv[1:]:
        print(keep(Path(folder), Path.cwd()))
