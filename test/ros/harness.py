"""A ROS graph in one process: nodes under test, a probe that publishes and listens."""

import subprocess
import sys
import time

import rclpy
from rcl_interfaces.msg import Log
from rcl_interfaces.srv import SetParameters, SetParametersAtomically
from rclpy.context import Context
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

from manip_dyn.ros import build, diagnostics

diagnostics.REPORT_PERIOD = 0.1
"""Nodes in the test process report ten times as often, s: many tests wait for reports."""
diagnostics.OVERRUN_WINDOW = 0.0
"""An overrun on a busy machine is reported once."""
for events in (PublisherEventCallbacks, SubscriptionEventCallbacks):
    # Without rclpy's warnings of types and QoS that do not match: an executor waits for two such
    # events per publisher and subscription, which takes half of its waiting time.
    events.__init__.__kwdefaults__["use_default_callbacks"] = False
LATCHED = QoSProfile(
    depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
"""QoS of subscriptions to latched topics, deep enough for bursts."""
WARN = Log.WARN[0] if isinstance(Log.WARN, bytes) else Log.WARN
TIMEOUT = 240.0
"""Bound of every wait, s: a node that compiles first may take minutes on a busy machine."""
AFTER_FAILURE = 30.0
"""Bound of every wait after a failed one, s: many failures must not take an hour."""


def messages_of(values):
    """Return parameter messages of {name: value}."""
    return [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]


class Ros:
    """A ROS graph that spins in the test's thread: waits are bounded, the order is deterministic.

    Attributes:
        timeout: Default bound of every wait, shared by all graphs, s.
    """

    timeout = TIMEOUT

    def __enter__(self):
        self.context = Context()
        rclpy.init(context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.works, self.clients = [], {}
        options = {"context": self.context, "start_parameter_services": False}
        self.probe = rclpy.create_node("probe", **options)
        self.executor.add_node(self.probe)
        self.log = self.listen(Log, "/rosout", 1000)
        return self

    def __exit__(self, *_):
        for work in self.works:
            work.close()
        self.executor.shutdown(timeout_sec=1.0)
        for node in [*(work.node for work in self.works), self.probe]:
            node.destroy_node()
        self.context.try_shutdown()

    def start(self, node_class, remap=(), **parameters):
        """Start a node with parameters and remaps as on the command line."""
        pairs = (f"{name}:={_yaml(value)}" for name, value in parameters.items())
        arguments = [word for pair in pairs for word in ("-p", pair)]
        work = build(node_class, context=self.context, cli_args=["--ros-args", *arguments, *remap])
        self.works.append(work)
        self.executor.add_node(work.node)
        return work

    def listen(self, kind, topic, qos=1000):
        """Return a list that grows with every message on `topic`."""
        messages = []
        self.probe.create_subscription(kind, topic, messages.append, qos)
        return messages

    def publisher_of(self, kind, topic):
        """Return a publisher that need not have a subscriber yet."""
        return self.probe.create_publisher(kind, topic, 1000)

    def publisher(self, kind, topic):
        """Return a publisher that has a subscriber."""
        publisher = self.publisher_of(kind, topic)
        self.until(lambda: publisher.get_subscription_count() > 0, f"no subscriber of {topic}")
        return publisher

    def until(self, condition, what, timeout=None):
        """Spin until `condition()` holds; fail with `what` after `timeout` s."""
        deadline = time.monotonic() + (timeout or Ros.timeout)
        while not condition():
            if time.monotonic() >= deadline:
                Ros.timeout = min(Ros.timeout, AFTER_FAILURE)
                raise AssertionError(f"timed out: {what}")
            self.executor.spin_once(timeout_sec=0.05)

    def insist(self, do, condition, what, period=0.02):
        """Repeat an action every `period` s until a condition holds.

        A message that is published once may be lost: on a topic with depth 1 a newer message
        replaces it before its subscriber reads it.
        """
        timer = self.probe.create_timer(period, do)
        try:
            self.until(condition, what)
        finally:
            self.probe.destroy_timer(timer)

    def until_still(self, messages, seconds=0.2):
        """Spin until a list of messages stops growing for `seconds` and 50 callbacks.

        The number of callbacks matters if this process was suspended meanwhile.
        """
        count = -1
        while count != len(messages):
            count = len(messages)
            deadline = time.monotonic() + seconds
            for _ in range(50):
                self.executor.spin_once(timeout_sec=max(0.0, deadline - time.monotonic()))

    def spin(self, duration):
        """Spin for `duration` s of wall time and at least 50 callbacks."""
        deadline, count = time.monotonic() + duration, 0
        while (remaining := deadline - time.monotonic()) > 0.0 or count < 50:
            self.executor.spin_once(timeout_sec=max(0.0, min(remaining, 0.01)))
            count += 1

    def service(self, kind, name):
        """Return the client of a service once the service is available."""
        if name not in self.clients:
            self.clients[name] = self.probe.create_client(kind, name)
        self.until(self.clients[name].service_is_ready, f"no service {name}")
        return self.clients[name]

    def call(self, kind, name, request=None):
        """Call a service and return its response."""
        client = self.service(kind, name)
        future = client.call_async(request or kind.Request())
        self.until(future.done, f"no answer from {name}")
        return future.result()

    def set_parameters(self, name, **values):
        """Set parameters of a node one by one; return the result of each."""
        request = SetParameters.Request(parameters=messages_of(values))
        return self.call(SetParameters, f"{name}/set_parameters", request).results

    def set_together(self, name, **values):
        """Set parameters of a node, all or none; return the result."""
        request = SetParametersAtomically.Request(parameters=messages_of(values))
        service = f"{name}/set_parameters_atomically"
        return self.call(SetParametersAtomically, service, request).result

    def warned(self, *words):
        """Whether one warning or error on /rosout has all `words`."""
        return any(all(word in m.msg for word in words) for m in self.log if m.level >= WARN)

    def expect_warning(self, *words):
        """Wait for a warning that has all `words`."""
        self.until(lambda: self.warned(*words), f"no warning with {words}: {self.messages()}")

    def messages(self):
        """Return the messages on /rosout so far."""
        return [m.msg for m in self.log]


def _yaml(value):
    return str(value).lower() if isinstance(value, bool) else value


def run_node(module, *arguments, timeout=TIMEOUT):
    """Run a node as a process until it ends; return exit code and standard error."""
    command = [sys.executable, "-m", "manip_dyn.ros.start", module, "--ros-args", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    return done.returncode, done.stderr


def start_node(module, *arguments):
    """Start a node as a process."""
    command = [sys.executable, "-m", "manip_dyn.ros.start", module, "--ros-args", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
