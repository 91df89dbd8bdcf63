"""Sandu et al. (2001) recomputed: errors as defined, tables complete, files written."""

import json
from pathlib import Path

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.studies import sandu2001
from manip_dyn.studies.report.record import read_record, stale
from manip_dyn.studies.sandu2001.pendulum import (
    DURATION,
    Run,
    cartesian_pendulum,
    errors,
    interpolated,
)


def cubic(t):
    return np.column_stack([t**3 - t, 2.0 * t**2])


def test_interpolation_is_exact_for_cubics_also_at_the_ends():
    t = np.linspace(0.0, 1.0, 11) ** 1.3
    found = interpolated(Run(t, cubic(t), 10, 0), np.linspace(0.0, 1.0, 77))
    np.testing.assert_allclose(found, cubic(np.linspace(0.0, 1.0, 77)), atol=1e-13)


def test_errors_are_the_largest_and_the_root_mean_square():
    t = np.linspace(0.0, 1.0, 6)
    states = cubic(t)
    states[3, 0] += 0.3
    states[1, 1] -= 0.2
    exact = Run(np.linspace(0.0, 1.0, 51), cubic(np.linspace(0.0, 1.0, 51)), 50, 0)
    angle, rate = errors(Run(t, states, 5, 0), exact)
    assert (angle.largest, angle.at) == (pytest.approx(0.3), pytest.approx(0.6))
    assert rate.mean == pytest.approx(0.2 / np.sqrt(6))


CHOSEN = ("cartesian", "joint, rodas5p")


@pytest.fixture(scope="module")
def found():
    return sandu2001.recompute("table1", runs=CHOSEN)


def test_published_and_computed_stand_side_by_side(found):
    assert {row.run for row in found.errors} == set(CHOSEN)
    for row in found.errors:
        published = dict(zip(sandu2001.TOLERANCES, sandu2001.PUBLISHED["position"], strict=True))
        assert row.published_max == published[row.tolerance]
        assert row.mean_error <= row.max_error < 4.0 * row.tolerance
        assert (row.status == "not above") == (row.max_error <= row.published_max)


def test_the_angle_is_as_exact_as_published(found):
    """In the paper's own coordinates with its own step control, and by RODAS5P."""
    assert {row.status for row in found.errors} == {"not above"}


def test_the_rate_is_as_exact_as_published_by_the_method_of_order_five():
    rates = sandu2001.recompute("table2", runs=CHOSEN[1:])
    assert [row.status for row in rates.errors] == ["not above"] * 4


def test_json_and_files(found, tmp_path):
    content = json.loads(json.dumps(found.content(), allow_nan=False))
    assert len(content["errors"]) == 8
    assert [file.name for file in found.write(tmp_path)] == ["sandu2001_errors.csv"]
    assert "cartesian" in str(found)


def test_the_kept_run_says_the_same(found):
    runs = Path(md.__file__).parents[1] / "docs" / "studies"
    if not runs.is_dir():
        pytest.skip("not a checkout")
    assert stale(read_record(runs / "sandu2001.json"), found.record(0.0)) == []


def test_the_pendulum_of_the_study_is_consistent():
    mechanism = cartesian_pendulum()
    assert mechanism.freedoms == 2
    assert DURATION == 2.0
