"""Polled subscriptions: a node takes messages without an executor, if rclpy allows it."""

import importlib.util
import threading
import time
from types import SimpleNamespace

import pytest
from builtin_interfaces.msg import Time
from harness import TIMEOUT, Ros
from rclpy.impl import implementation_singleton
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from manip_dyn.ros import (
    EVERY_MESSAGE,
    NEWEST_ONLY,
    PolledSubscription,
    SimulatorNode,
    SubscriptionThread,
    serialized_stamp,
)


@pytest.fixture(scope="module")
def ros():
    with Ros() as started:
        yield started


def send(ros, topic, *numbers):
    publisher = ros.publisher(Float64MultiArray, topic)
    for number in numbers:
        publisher.publish(Float64MultiArray(data=[float(number)]))


class Messages(list):
    """Received messages, the threads that received them, and their source timestamps."""

    def __init__(self):
        self.threads, self.sent = set(), []

    def __call__(self, message, info):
        self.append(message if isinstance(message, bytes) else message.data[0])
        self.threads.add(threading.current_thread().name)
        self.sent.append(info["source_timestamp"])


def take_until(ros, subscription, received, count):
    """Take messages until there are `count`; some may still be in flight."""
    deadline = time.monotonic() + TIMEOUT
    while len(received) < count and time.monotonic() < deadline:
        ros.spin(0.01)
        subscription.take()
    return received


def test_an_executor_does_not_take_messages(ros):
    received, others = Messages(), ros.listen(Float64MultiArray, "alone")
    subscription = PolledSubscription(
        ros.probe, Float64MultiArray, "alone", received, EVERY_MESSAGE
    )
    before = time.time_ns()
    send(ros, "alone", 1, 2, 3)
    ros.until(lambda: len(others) == 3, "no messages")
    assert received == []
    assert take_until(ros, subscription, received, 3) == [1.0, 2.0, 3.0]
    assert before <= received.sent[0] <= time.time_ns()


def test_an_executor_takes_messages_while_it_is_enabled(ros):
    received, enabled = Messages(), [True]
    subscription = PolledSubscription(
        ros.probe, Float64MultiArray, "both", received, EVERY_MESSAGE, executed=lambda: enabled[0]
    )
    send(ros, "both", 1)
    ros.until(lambda: received == [1.0], "the executor took nothing")
    enabled[0] = False
    ros.spin(0.1)  # the executor may still take messages that it already waits for
    others = ros.listen(Float64MultiArray, "both")
    send(ros, "both", 2)
    ros.until(lambda: others, "no messages")
    assert take_until(ros, subscription, received, 2) == [1.0, 2.0]


def test_newest_only_returns_the_newest_message(ros):
    received, others = Messages(), ros.listen(Float64MultiArray, "newest")
    subscription = PolledSubscription(
        ros.probe, Float64MultiArray, "newest", received, NEWEST_ONLY
    )
    ros.until(lambda: ros.probe.count_subscribers("newest") == 2, "not connected")
    send(ros, "newest", *range(20))
    ros.until(lambda: len(others) == 20, "no messages")
    take_until(ros, subscription, received, 1)
    assert received[-1] == 19.0


def test_a_thread_receives_without_an_executor_until_it_is_stopped(ros):
    received = Messages()
    subscription = PolledSubscription(
        ros.probe, Float64MultiArray, "thread", received, EVERY_MESSAGE
    )
    listener = SubscriptionThread(ros.probe, subscription)
    listener.start()
    send(ros, "thread", 1, 2)
    deadline = time.monotonic() + TIMEOUT
    while len(received) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert (received, received.threads) == ([1.0, 2.0], {"subscription"})
    listener.stop()
    assert not any(thread.name == "subscription" for thread in threading.enumerate())


WAIT_SET = ("clear_entities", "add_subscription", "wait", "get_ready_entities")
PRIVATE = ("rclpy_implementation", "Subscription", "take_message", "WaitSet", *WAIT_SET)


@pytest.fixture(params=PRIVATE)
def fallback(request, monkeypatch):
    """Return the module of subscriptions, imported while a private name of rclpy is missing."""
    methods = {name: lambda *_: None for name in (*WAIT_SET, "take_message")}
    methods.pop(request.param, None)
    classes = {name: type(name, (), methods) for name in ("Subscription", "WaitSet")}
    classes.pop(request.param, None)
    if request.param == "rclpy_implementation":
        monkeypatch.delattr(implementation_singleton, request.param)
    else:
        stub = SimpleNamespace(**classes)
        monkeypatch.setattr(implementation_singleton, "rclpy_implementation", stub)
    source = importlib.util.find_spec("manip_dyn.ros.runtime.subscriptions")
    spec = importlib.util.spec_from_file_location("fallback", source.origin)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.undo()
    return module


def test_an_executor_takes_messages_if_a_private_name_of_rclpy_is_missing(ros, fallback, request):
    topic = "fallback_" + request.node.callspec.id
    received, raw = Messages(), Messages()
    subscription = fallback.PolledSubscription(
        ros.probe, Float64MultiArray, topic, received, EVERY_MESSAGE
    )
    drain = fallback.subscribe_raw(ros.probe, Float64MultiArray, topic, EVERY_MESSAGE, raw)
    thread = fallback.SubscriptionThread(ros.probe, subscription)
    thread.start()
    send(ros, topic, 1, 2)
    ros.until(lambda: len(received) == len(raw) == 2, "the executor took nothing")
    assert received == [1.0, 2.0]
    subscription.take()
    drain()
    thread.stop()
    assert len(received) == len(raw) == 2
    assert ros.probe.context.ok()


def test_a_simulator_obeys_commands_without_private_names_of_rclpy(ros, monkeypatch):
    monkeypatch.setattr("manip_dyn.ros.runtime.subscriptions.DIRECT", False)
    states = ros.listen(JointState, "joint_states")
    ros.start(SimulatorNode, robot="ibm7535", command_timeout=0.0)
    publisher = ros.publisher(Float64MultiArray, "simulator/commands")
    publisher.publish(Float64MultiArray(data=[2.0, 1.0]))
    ros.until(lambda: states and list(states[-1].effort) == [2.0, 1.0], "no effort")


@pytest.mark.parametrize("stamp", [(0, 0), (7, 5), (1_800_000_000, 999_999_999), (-3, 1)])
def test_the_stamp_of_a_serialized_message_is_read(stamp):
    seconds, nanoseconds = stamp
    message = JointState(name=["a"], position=[1.0])
    message.header.stamp = Time(sec=seconds, nanosec=nanoseconds)
    assert serialized_stamp(serialize_message(message)) == seconds * 1_000_000_000 + nanoseconds


def test_the_stamp_of_a_big_endian_message():
    content = bytes((0, 0, 0, 0)) + (5).to_bytes(4, "big") + (6).to_bytes(4, "big")
    assert serialized_stamp(content) == 5_000_000_006
