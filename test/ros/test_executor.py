"""Nodes' callbacks: all kinds run; what there is to wait for is gathered when it changes."""

from types import SimpleNamespace

import pytest
import rclpy
from harness import TIMEOUT
from rclpy.context import Context
from rclpy.task import Future
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import Trigger

from manip_dyn.ros.runtime import kept_wait_set as module
from manip_dyn.ros.runtime.executor import NodeExecutor


@pytest.fixture
def graph():
    """An executor with a node, and a publisher of it that the node itself may hear."""
    context = Context()
    rclpy.init(context=context)
    executor = NodeExecutor(context=context)
    node = rclpy.create_node("node", context=context, start_parameter_services=False)
    executor.add_node(node)
    publisher = node.create_publisher(Float64MultiArray, "topic", 1000)
    yield SimpleNamespace(context=context, executor=executor, node=node, publisher=publisher)
    executor.shutdown()
    node.destroy_node()
    context.try_shutdown()


def until(graph, condition):
    clock = graph.node.get_clock()
    begin = clock.now()
    while not condition():
        assert (clock.now() - begin).nanoseconds < 1e9 * TIMEOUT
        graph.executor.spin_once(timeout_sec=0.05)


def listen(graph, call):
    """Return a subscription that the publisher has found."""
    found = graph.node.create_subscription(Float64MultiArray, "topic", call, 1000)
    until(graph, lambda: graph.publisher.get_subscription_count() > 0)
    return found


def send(graph, *numbers):
    for number in numbers:
        graph.publisher.publish(Float64MultiArray(data=[float(number)]))


def test_a_service_is_answered_beside_a_timer_and_a_topic(graph):
    ticks, heard = [], []
    timer = graph.node.create_timer(0.001, lambda: ticks.append(len(ticks)))
    listen(graph, lambda message: heard.append(message.data[0]))
    answer = lambda _, response: Trigger.Response(success=True, message="done")  # noqa: E731
    graph.node.create_service(Trigger, "service", answer)
    client = graph.node.create_client(Trigger, "service")
    until(graph, client.service_is_ready)
    send(graph, 1, 2, 3)
    future = client.call_async(Trigger.Request())
    ended = []
    future.add_done_callback(ended.append)  # rclpy makes a task of it
    until(graph, lambda: ended and len(ticks) > 3 and len(heard) == 3)
    assert (future.result().message, heard) == ("done", [1.0, 2.0, 3.0])
    timer.cancel()
    until(graph, lambda: not graph.executor._ready)
    count = len(ticks)
    graph.executor.spin_once(timeout_sec=0.01)
    assert len(ticks) == count


def test_messages_gather_nothing_anew_but_entities_do(graph, monkeypatch):
    made = []

    def counted(*counts):
        made.append(counts)
        return real(*counts)

    real = module.rclpy_implementation.WaitSet
    monkeypatch.setattr(module.rclpy_implementation, "WaitSet", counted)
    heard = []
    first = listen(graph, lambda message: heard.append(message.data[0]))
    send(graph, 0)
    until(graph, lambda: heard)
    before = len(made)
    send(graph, *range(1, 100))
    until(graph, lambda: len(heard) == 100)
    assert heard == list(range(100))
    assert len(made) == before
    later = []
    graph.node.create_subscription(Float64MultiArray, "topic", later.append, 1000)
    graph.node.destroy_subscription(first)
    until(graph, lambda: graph.publisher.get_subscription_count() == 1)
    send(graph, 100)
    until(graph, lambda: later)
    assert len(made) > before
    assert len(heard) == 100


def test_a_callback_that_awaits_something_goes_on_when_it_is_there(graph):
    there, heard = Future(), []

    async def hear(message):
        heard.append(await there + message.data[0])

    listen(graph, hear)
    send(graph, 1)
    until(graph, lambda: graph.executor._unfinished)
    assert heard == []
    there.set_result(41.0)
    until(graph, lambda: heard)
    assert heard == [42.0]


@pytest.mark.parametrize("kind", ["callback", "task"])
def test_what_is_raised_reaches_who_spins(graph, kind):
    def fail(*_):
        raise ValueError("by the callback")

    if kind == "task":
        graph.executor.create_task(fail)
    else:
        listen(graph, fail)
        send(graph, 1)
    with pytest.raises(ValueError, match="by the callback"):
        until(graph, lambda: False)


def test_a_removed_node_is_silent_and_can_end(graph):
    heard = []
    listen(graph, heard.append)
    graph.executor.remove_node(graph.node)
    send(graph, 1)
    for _ in range(5):
        graph.executor.spin_once(timeout_sec=0.02)
    assert heard == []
    graph.executor.add_node(graph.node)
    until(graph, lambda: heard)


def test_a_future_ends_a_spin_that_waits_for_it(graph):
    future = graph.executor.create_task(lambda: "done")
    graph.executor.spin_until_future_complete(future, timeout_sec=TIMEOUT)
    assert future.result() == "done"


def test_the_end_of_the_context_ends_a_spin(graph):
    graph.node.create_timer(0.01, graph.context.shutdown)
    graph.executor.spin()
    assert not graph.context.ok()
