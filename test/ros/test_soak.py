"""The soak: its statistics, and the log of a short run."""

import json
import subprocess
import sys

import pytest
from harness import TIMEOUT

from manip_dyn import ManipDynError
from manip_dyn.demo import ProgressLines, control_period, memory_growth, runs, scenario, soak
from manip_dyn.ros import SoakLog

MS = 1_000_000


def test_missing_states_are_counted_by_their_stamps():
    log = SoakLog(1e-3)
    for k in (0, 1, 2, 5, 6, 6, 10):  # 3, 4, 7, 8 and 9 are missing, 6 comes twice
        log.add(k * 1e-3, k * MS)
    assert (log.states, log.lost) == (7, 5)


def test_the_rate_is_that_of_arrivals_not_of_stamps():
    log = SoakLog(1e-3)
    for k in range(1001):
        log.add(50.0 + k * 1.1e-3, k * MS)
    summary = log.summary()
    assert summary["rate_hz"] == pytest.approx(1000.0 / 1.1)
    assert summary["rate_error"] == pytest.approx(0.1 / 1.1)
    assert summary["lost_states"] == 0
    assert summary["duration_s"] == pytest.approx(1.1)


def test_the_largest_values_are_reported():
    log = SoakLog(1e-3)
    log.add(0.0, 0)
    for residual in (1e-12, -3e-9, 2e-12):
        log.add_residual(residual)
    for window in ((1e-5, 4e-3), (2e-5, 1e-3), (9e-5, 2e-3)):
        log.add_window(*window)
    summary = log.summary()
    assert summary["energy_residual_J"] == 2e-12
    assert summary["largest_energy_residual_J"] == 3e-9
    assert summary["median_p99_period_error_s"] == 2e-5
    assert summary["largest_p99_period_error_s"] == 9e-5
    assert summary["max_period_error_s"] == 4e-3


def test_memory_counts_from_the_end_of_the_warm_up():
    """Growth of 100 MiB during the start is ignored; then one node grows by 36 MiB per hour."""
    samples = [
        {"time_s": float(t), "memory_MiB": {"a": 100.0 * (t >= 10) + 0.01 * t + 200.0, "b": 50.0}}
        for t in range(101)
    ]
    growth = memory_growth(samples)
    assert growth["a_memory_growth_MiB_per_h"] == pytest.approx(36.0)
    assert growth["a_memory_MiB"] == pytest.approx([300.2, 301.0])
    assert growth["b_memory_growth_MiB_per_h"] == pytest.approx(0.0)
    assert growth["memory_growth"] == pytest.approx(0.8 / 300.2)


def test_the_period_is_that_of_the_simulator():
    assert control_period(scenario("pa10_dynamic_circle")) == 0.001
    assert control_period(scenario("ur5_torque")) == 0.002


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("pa10_circle", 5.0), "must have a scenario with a tracked arm in real time such as"),
        ((None, -1.0), "soak must be above 0, got -1"),
        (("pa10_circel", 5.0), "did you mean 'pa10_circle'"),
    ],
)
def test_invalid_soaks_are_rejected(arguments, words, monkeypatch):
    monkeypatch.setattr(runs, "perform_run", None)
    with pytest.raises(ManipDynError, match=words):
        soak(*arguments, ProgressLines)


def test_a_short_soak_is_measured_and_stored(tmp_path):
    """The rate depends on the machine: exit code 1 reports a deviation."""
    log = tmp_path / "soak.json"
    command = [
        sys.executable,
        "-m",
        "manip_dyn",
        "demo",
        "--soak",
        "2",
        "--json",
        "--log",
        str(log),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode in (0, 1), done.stderr
    result = json.loads(done.stdout)
    assert result["success"] == (done.returncode == 0)
    assert result["duration_s"] >= 2.0
    assert result["rate_hz"] * result["duration_s"] == pytest.approx(result["states"] - 1)
    assert result["largest_energy_residual_J"] < 1e-6
    assert result["largest_p99_period_error_s"] <= result["max_period_error_s"]
    for node in ("simulator", "clik_tracker", "monitor"):
        assert result[f"{node}_memory_MiB"][1] > 10.0
    stored = json.loads(log.read_text())
    assert len(stored["samples"]) >= 2
    assert stored["rate_hz"] == result["rate_hz"]
    assert stored["samples"][-1]["stolen_s"] == result["stolen_s"] >= 0.0
    assert set(stored["samples"][-1]["nodes"]) == {"simulator", "clik_tracker"}
