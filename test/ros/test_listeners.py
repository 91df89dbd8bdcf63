"""Who listens to commands: recorders do not, whatever comes and goes."""

from types import SimpleNamespace

import pytest

from manip_dyn.ros.runtime import listeners
from manip_dyn.ros.runtime.listeners import UNKNOWN, Listeners


@pytest.mark.parametrize(
    ("count", "names", "found"),
    [
        (0, [], 0),
        (1, ["simulator"], 1),
        (1, ["recorder"], 0),
        (2, ["rosbag2_recorder", "simulator"], 1),
        (1, ["recorder", "simulator"], 1),  # a recorder that was killed is still known
        (2, ["recorder", UNKNOWN], 0),  # perhaps another recorder: soon it is known
        (1, [], 0),
    ],
)
def test_listeners_are_counted_without_recorders(count, names, found):
    told = [SimpleNamespace(node_name=name) for name in names]
    node = SimpleNamespace(get_subscriptions_info_by_topic=lambda _: told)
    publisher = SimpleNamespace(get_subscription_count=lambda: count, topic_name="commands")
    count_them = Listeners(node, publisher)
    assert count_them() == count_them() == found


def test_what_stays_unknown_counts_after_a_while(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(listeners.time, "monotonic", lambda: now[0])
    node = SimpleNamespace(get_subscriptions_info_by_topic=lambda _: [])
    publisher = SimpleNamespace(get_subscription_count=lambda: 1, topic_name="commands")
    count_them = Listeners(node, publisher)
    assert count_them() == 0
    now[0] = 2.0 * listeners.PATIENCE
    assert count_them() == 1


def test_an_arm_that_goes_while_a_recorder_stays_is_missed():
    told = [SimpleNamespace(node_name=name) for name in ("recorder", "simulator")]
    count = [2]
    node = SimpleNamespace(get_subscriptions_info_by_topic=lambda _: told)
    publisher = SimpleNamespace(get_subscription_count=lambda: count[0], topic_name="commands")
    count_them = Listeners(node, publisher)
    assert count_them() == 1
    count[0] = 1  # the simulator is gone, and soon it is known
    count_them()
    told.pop()
    assert count_them() == 0
