"""Diagnostics of any node."""

from types import SimpleNamespace

import pytest
from diagnostic_msgs.msg import DiagnosticArray

from manip_dyn.ros import OK, Report, SimulatorNode, ThrottledWarning, status_message


def test_a_status_names_node_and_hardware_and_omits_missing_values(ros):
    values = {"rate [Hz]": 1000.0, "error [m]": None, "limits": "none"}
    status = status_message(ros.probe, Report(OK, "running", values), "pa10")
    assert (status.name, status.hardware_id, status.message) == ("probe", "pa10", "running")
    assert [(item.key, item.value) for item in status.values] == [
        ("rate [Hz]", "1000"),
        ("limits", "none"),
    ]


@pytest.mark.parametrize("simulated", [False, True])
def test_diagnostics_come_without_a_clock(ros, simulated):
    """A timer of the node's clock would stop with use_sim_time."""
    reports = ros.listen(DiagnosticArray, "/diagnostics")
    ros.start(SimulatorNode, robot="one_link_horizontal", use_sim_time=simulated)
    ros.until(lambda: reports, "no diagnostics")
    assert reports[0].status[0].hardware_id == "simulated one_link_horizontal"


def test_a_throttled_warning_is_logged_once_per_period(monkeypatch):
    """Regression: each suppressed warning of rclpy's logger took 0.2 ms."""
    lines, now = [], [0.0]
    node = SimpleNamespace(get_logger=lambda: SimpleNamespace(warning=lines.append))
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    warn, period = ThrottledWarning(node, "dropped: ", period=2.0), 0.25
    for k in range(17):
        now[0] = k * period
        warn(k)
    assert lines == ["dropped: 0", "dropped: 8", "dropped: 16"]
