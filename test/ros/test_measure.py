"""Measurements of the demo from joint states, for motions with known results."""

from pathlib import Path

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn import ManipDynError
from manip_dyn.clik import Pose
from manip_dyn.demo import SCENARIOS, RunFailedError, runs
from manip_dyn.ros import FreeLog, MotionLog, TrackingLog, first_whole_lap

PERIOD = 1_000_000


def bang_bang(t, begin, switch, acceleration):
    """Return position and velocity of a double integrator: +a, -a, rest."""
    final = begin + 2.0 * (switch - begin)
    first = np.clip(t, begin, switch) - begin
    second = np.clip(t, switch, final) - switch
    peak = acceleration * (switch - begin)
    position = acceleration * first**2 / 2 + peak * second - acceleration * second**2 / 2
    return position, acceleration * (first - second)


def log_of(begin, switch, acceleration=-3.0, samples=600):
    travel = bang_bang(1e9, begin, switch, acceleration)[0]
    log = MotionLog(np.array([1.0 + travel, 0.0]))
    for k in range(samples):
        q, v = bang_bang(k * PERIOD * 1e-9, begin, switch, acceleration)
        log.add(k * PERIOD, np.array([1.0 + q, 0.0]), np.array([v, 0.0]), np.zeros(2))
    return log


@pytest.mark.parametrize(
    ("begin", "switch"), [(0.0, 0.1), (0.0, 0.1234567), (0.0205, 0.1999), (0.0203, 0.15001)]
)
def test_switch_and_final_time_between_samples(begin, switch):
    summary = log_of(begin, switch).summary()
    assert summary["switch_time_s"] == pytest.approx(switch - begin, abs=1e-11)
    assert summary["final_time_s"] == pytest.approx(2.0 * (switch - begin), abs=1e-11)
    assert summary["final_position_error"] < 1e-14
    assert summary["missed_samples"] == 0


def test_a_settled_arm_remains_near_the_goal():
    """Braked by 3 rad/s^2, the speed falls below 0.01 rad/s 1/300 s before the end at 0.2 s."""
    log = log_of(0.0, 0.1)
    assert log.settled_ns * 1e-9 == pytest.approx(0.2 - 1e-2 / 3.0, abs=1e-3)
    log.add(700 * PERIOD, log.goal + 2e-3, np.zeros(2), np.zeros(2))
    assert log.settled_ns == 700 * PERIOD


def test_several_joints_have_no_common_switch():
    log = MotionLog(np.zeros(2))
    for k in range(4):
        log.add(k * PERIOD, np.full(2, 3.0 - k), np.ones(2), np.zeros(2))
    assert "switch_time_s" not in log.summary()


def test_missed_and_repeated_samples():
    log = log_of(0.0, 0.1)
    log.add(599 * PERIOD, np.ones(2), np.ones(2), np.ones(2))
    log.add(602 * PERIOD, log.goal, np.zeros(2), np.zeros(2))
    assert log.summary()["missed_samples"] == 2


def test_the_digest_depends_on_every_bit():
    one, same, different = (MotionLog(np.zeros(1)) for _ in range(3))
    for log, value in ((one, 0.1), (same, 0.1), (different, np.nextafter(0.1, 1.0))):
        log.add(0, np.array([value]), np.zeros(1), np.zeros(1))
    assert one.digest() == same.digest() != different.digest()


def test_tracking_errors_of_known_offsets():
    robot = md.load_robot("pa10")
    q = np.array([0.1, 0.4, -0.2, 1.0, 0.3, 0.6, 0.0])
    pose = md.customize(robot).forward_kinematics(q)
    log = TrackingLog(robot, settle=1.0)
    v = 0.25 * robot.v_max
    for t, offset in ((0.0, 3e-3), (1.0, 2e-3), (2.0, 1e-3)):
        log.add(t, q, v, Pose(pose[:3, 3] + [0.0, offset, 0.0], pose[:3, :3]))
    summary = log.summary()
    assert summary["max_position_error_m"] == pytest.approx(3e-3)
    assert summary["steady_position_error_m"] == pytest.approx(2e-3)
    assert summary["final_position_error_m"] == pytest.approx(1e-3)
    assert summary["max_orientation_error_rad"] < 1e-15
    assert summary["max_fraction_of_speed_limits"] == pytest.approx(0.25)
    values = np.linalg.svd(md.customize(robot).jacobian(q), compute_uv=False)
    assert summary["smallest_singular_value"] == pytest.approx(values[-1])


def test_a_path_received_late_is_measured_from_its_next_lap():
    assert [first_whole_lap(t, 16.0) for t in (0.0, 0.2, 3.0, 16.5)] == [0.0, 0.0, 16.0, 32.0]


def test_a_free_motion_is_measured_from_time_zero_to_its_end():
    log = FreeLog(np.array([1.0, 2.0]), 0.5)
    log.add(480 * PERIOD, np.ones(2), np.ones(2))
    assert log.fraction == 0.0
    for k in range(0, 510, 10):
        log.add(k * PERIOD, np.array([1.0, 2.0 + (k == 500) * 1e-3]), np.array([0.0, -3.0]))
    assert log.fraction == 1.0
    summary = log.summary()
    assert summary["samples"] == 51
    assert summary["missed_samples"] == 0
    assert summary["final_position_error"] == pytest.approx(1e-3)
    assert summary["max_velocity"] == 3.0


def test_the_demo_shows_three_headlines():
    shown = [(item.name, run.label) for item in SCENARIOS for run in item.runs if run.headline]
    assert shown == [
        ("pa10_circle", "kinematic"),
        ("ibm7535_zero_net_work", "lockstep"),
        ("ibm7535_minimum_time", "lockstep"),
    ]


def test_the_demo_runs_its_headlines_and_lists_other_scenarios(monkeypatch, capsys):
    done = []
    monkeypatch.setattr(runs, "isolate", lambda: None)

    def performed(_scenario, run, _show, **_):
        done.append(run)
        return dict.fromkeys(run.bounds, 0.0)

    monkeypatch.setattr(runs, "perform_run", performed)
    assert runs.demo(None, None, as_json=False) == 0
    assert len(done) == 3
    text = capsys.readouterr().out
    assert "manip_dyn demo --all" in text
    assert "hmmwv" in text
    done.clear()
    assert runs.demo(None, None, as_json=True, everything=True) == 0
    assert len(done) >= len(SCENARIOS) - 1


def test_a_failed_recording_of_a_failed_run_is_reported(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(runs, "isolate", lambda: None)
    files = []

    def performed(_scenario, run, _show, record, **_):
        files.append(Path(record).name)
        error = RunFailedError("a node died")
        error.recorded = {"recording_failed": "the disk is full"}
        raise error

    monkeypatch.setattr(runs, "perform_run", performed)
    with pytest.raises(ManipDynError, match="the disk is full"):
        runs.demo("pa10_circle", None, False, record=str(tmp_path / "a.mcap"))
    captured = capsys.readouterr()
    assert "a node died" in captured.err
    assert files[0] == "a-pa10_circle-kinematic.mcap"
    assert all(name in captured.out for name in files)
    (tmp_path / files[-1]).write_text("existing")
    files.clear()
    with pytest.raises(ManipDynError, match="must be a new file"):
        runs.demo("pa10_circle", None, False, record=str(tmp_path / "a.mcap"))
    assert not files
