"""Numbers and pictures of the shipped sweeps."""

import json
from pathlib import Path

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.bench import sweep_pictures

ROOT = Path(md.__file__).parents[1]
STORED = ROOT / "benchmarks" / "sweeps"


def arrivals():
    """Return a sweep in which arms of half to twice their mass arrive, later with more error."""
    rows = []
    for method in sweep_pictures.METHODS:
        for factor in np.linspace(0.25, 3.0, 221):
            arrived = 0.5 <= factor <= 2.0
            time = 1.0 + abs(factor - 1.0) if arrived else None
            rows.append({"method": method, "mass_scale": factor, "arrival_time": time})
            rows[-1] |= {"success": arrived, "status": "arrived" if arrived else "missed"}
    return md.SweepResult(rows)


def test_every_arm_between_the_first_misses_arrives():
    content = sweep_pictures.mass_error(arrivals())
    for method in content["methods"].values():
        assert method["always_arrives"] == [0.5, 2.0]
        assert method["arrived"] == 121
        assert method["share"][0] == 0.0
        assert method["arrival_time"][0] is None
        assert min(t for t in method["arrival_time"] if t) == pytest.approx(1.0, abs=0.05)


def test_goals_are_compared_if_both_methods_have_a_plan(tmp_path):
    rows = [
        {
            "method": method,
            "goal_shoulder": x,
            "goal_elbow": y,
            "t_final": time * (x + abs(y)),
            "success": not (method == "zero_net_work" and (x, y) == (1.0, 1.0)),
            "status": "solved",
        }
        for method, time in (("zero_net_work", 1.2), ("minimum_time", 1.0))
        for x in (0.0, 1.0, 2.0)
        for y in (-1.0, 0.0, 1.0)
    ]
    content = sweep_pictures.goals(md.SweepResult(rows))
    more = content["more_than_minimum_time"]
    assert more["goals"] == 7  # of 9: one has no plan, one no displacement
    assert more["median"] == more["most"] == pytest.approx(0.2)
    assert content["methods"]["zero_net_work"]["t_final"][1][2] is None
    sweep_pictures.draw_goals(content, tmp_path / "goals.png")
    sweep_pictures.draw_mass_error(sweep_pictures.mass_error(arrivals()), tmp_path / "mass.png")
    assert all(file.read_bytes()[:4] == b"\x89PNG" for file in tmp_path.iterdir())


def test_a_folder_of_another_name_is_rejected(tmp_path):
    with pytest.raises(md.ManipDynError, match="named after a shipped sweep, got 'gaols'"):
        sweep_pictures.keep(tmp_path / "gaols", tmp_path)


@pytest.mark.skipif(not STORED.is_dir(), reason="not a checkout")
def test_the_page_matches_the_stored_numbers():
    page = " ".join((ROOT / "docs" / "sweeps.md").read_text().split())
    masses = json.loads((STORED / "ibm7535_mass_error.json").read_text())["methods"]
    assert sum(method["cases"] for method in masses.values()) >= 10_000
    for name, method in masses.items():
        low, high = method["always_arrives"]
        assert f"scaled by {low:.2f} to {high:.2f}" in page, name
    goals = json.loads((STORED / "ibm7535_goals.json").read_text())["more_than_minimum_time"]
    assert f"{goals['goals']} goals" in page
    assert f"{100 * goals['median']:.1f} %" in page
    assert f"{100 * goals['most']:.1f} %" in page
