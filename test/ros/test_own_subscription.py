"""Messages that a node takes itself: no executor does, unless it is told to."""

import threading
import time

import pytest
from builtin_interfaces.msg import Time
from harness import TIMEOUT, Ros
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manip_dyn.ros.messages.geometry import serialized_stamp
from manip_dyn.ros.runtime.subscriptions import (
    EVERY_MESSAGE,
    NEWEST_ONLY,
    PolledSubscription,
    SubscriptionThread,
)


@pytest.fixture(scope="module")
def ros():
    with Ros() as started:
        yield started


def send(ros, topic, *numbers):
    publisher = ros.publisher(Float64MultiArray, topic)
    for number in numbers:
        publisher.publish(Float64MultiArray(data=[float(number)]))


class Heard(list):
    """What came, the threads that heard it, and when it was sent."""

    def __init__(self):
        self.threads, self.sent = set(), []

    def __call__(self, message, info):
        self.append(message if isinstance(message, bytes) else message.data[0])
        self.threads.add(threading.current_thread().name)
        self.sent.append(info["source_timestamp"])


def taken(ros, own, heard, count):
    """Take until so many came: a message may still be on its way."""
    deadline = time.monotonic() + TIMEOUT
    while len(heard) < count and time.monotonic() < deadline:
        ros.spin(0.01)
        own.take()
    return heard


def test_an_executor_leaves_it_alone(ros):
    heard, other = Heard(), ros.listen(Float64MultiArray, "alone")
    own = PolledSubscription(ros.probe, Float64MultiArray, "alone", heard, EVERY_MESSAGE)
    before = time.time_ns()
    send(ros, "alone", 1, 2, 3)
    ros.until(lambda: len(other) == 3, "nothing came")
    assert heard == []
    assert taken(ros, own, heard, 3) == [1.0, 2.0, 3.0]
    assert before <= heard.sent[0] <= time.time_ns()


def test_an_executor_takes_part_while_it_is_told_to(ros):
    heard, taking_part = Heard(), [True]
    own = PolledSubscription(
        ros.probe, Float64MultiArray, "both", heard, EVERY_MESSAGE, executed=lambda: taking_part[0]
    )
    send(ros, "both", 1)
    ros.until(lambda: heard == [1.0], "the executor took nothing")
    taking_part[0] = False
    ros.spin(0.1)  # what it waits for already it may still take
    other = ros.listen(Float64MultiArray, "both")
    send(ros, "both", 2)
    ros.until(lambda: other, "nothing came")
    assert taken(ros, own, heard, 2) == [1.0, 2.0]


def test_a_loop_that_wants_the_newest_gets_one_and_it_is_the_newest(ros):
    heard, other = Heard(), ros.listen(Float64MultiArray, "newest")
    own = PolledSubscription(ros.probe, Float64MultiArray, "newest", heard, NEWEST_ONLY)
    ros.until(lambda: ros.probe.count_subscribers("newest") == 2, "not connected")
    send(ros, "newest", *range(20))
    ros.until(lambda: len(other) == 20, "nothing came")
    taken(ros, own, heard, 1)
    assert heard[-1] == 19.0


def test_a_thread_hears_without_an_executor_until_it_is_stopped(ros):
    heard = Heard()
    own = PolledSubscription(ros.probe, Float64MultiArray, "thread", heard, EVERY_MESSAGE)
    listener = SubscriptionThread(ros.probe, own)
    listener.start()
    send(ros, "thread", 1, 2)
    deadline = time.monotonic() + TIMEOUT
    while len(heard) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (heard, heard.threads) == ([1.0, 2.0], {"subscription"})
    listener.stop()
    assert not any(each.name == "subscription" for each in threading.enumerate())


@pytest.mark.parametrize("stamp", [(0, 0), (7, 5), (1_800_000_000, 999_999_999), (-3, 1)])
def test_the_stamp_of_a_serialized_message_is_that_of_the_message(stamp):
    seconds, rest = stamp
    message = JointState(name=["a"], position=[1.0])
    message.header.stamp = Time(sec=seconds, nanosec=rest)
    assert serialized_stamp(serialize_message(message)) == seconds * 1_000_000_000 + rest


def test_the_stamp_of_a_big_endian_message():
    content = bytes((0, 0, 0, 0)) + (5).to_bytes(4, "big") + (6).to_bytes(4, "big")
    assert serialized_stamp(content) == 5_000_000_006
