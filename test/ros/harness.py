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
"""Nodes of the tests' own process report ten times as often, s: many a test waits for it."""
diagnostics.OVERRUN_WINDOW = 0.0
"""And on a busy machine they overrun, which is told once."""
for events in (PublisherEventCallbacks, SubscriptionEventCallbacks):
    # Warnings of rclpy's own, of types and QoS that do not match: an executor waits for two such
    # events of each publisher and subscription, with half of the time that waiting takes.
    events.__init__.__kwdefaults__["use_default_callbacks"] = False
LATCHED = QoSProfile(
    depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
"""For listeners to what is latched: also to all of what follows fast."""
WARN = Log.WARN[0] if isinstance(Log.WARN, bytes) else Log.WARN
TIMEOUT = 600.0
"""Bounds every wait, s: a node that compiles first, on a busy machine, may take minutes."""
AFTER_FAILURE = 60.0
"""Bounds every wait after one that was in vain, s: many failures are not to take an hour."""


def messages_of(values):
    """Return parameters by name as messages."""
    return [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]


class Ros:
    """Everything spins in the test's thread, so that waits are bounded and order is known.

    Attributes:
        patience: Bounds every wait that has no bound of its own, in all graphs, s.
    """

    patience = TIMEOUT

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
        """Start a node with parameters, and remaps, given as on the command line."""
        pairs = (f"{name}:={_yaml(value)}" for name, value in parameters.items())
        arguments = [part for pair in pairs for part in ("-p", pair)]
        work = build(node_class, context=self.context, cli_args=["--ros-args", *arguments, *remap])
        self.works.append(work)
        self.executor.add_node(work.node)
        return work

    def listen(self, kind, topic, qos=1000):
        """Return a list that grows with every message on `topic`."""
        messages = []
        self.probe.create_subscription(kind, topic, messages.append, qos)
        return messages

    def publisher(self, kind, topic):
        """Return a publisher that somebody listens to."""
        publisher = self.probe.create_publisher(kind, topic, 1000)
        self.until(lambda: publisher.get_subscription_count() > 0, f"nobody listens on {topic}")
        return publisher

    def until(self, condition, what, timeout=None):
        """Spin until `condition()` holds; fail with `what` after `timeout` s."""
        deadline = time.monotonic() + (timeout or Ros.patience)
        while not condition():
            if time.monotonic() >= deadline:
                Ros.patience = min(Ros.patience, AFTER_FAILURE)
                raise AssertionError(f"timed out: {what}")
            self.executor.spin_once(timeout_sec=0.05)

    def insist(self, do, condition, what, period=0.02):
        """Do something, and again every so many s, until a condition holds.

        A message that is published once may never be taken: another one that comes before its
        reader looks takes its place on a topic that keeps the newest alone.
        """
        timer = self.probe.create_timer(period, do)
        try:
            self.until(condition, what)
        finally:
            self.probe.destroy_timer(timer)

    def until_still(self, messages, seconds=0.2):
        """Spin until a list of messages does not grow for so long, and while many callbacks run.

        A process that stands still for longer than that has heard nothing, which says nothing.
        """
        count = -1
        while count != len(messages):
            count = len(messages)
            deadline = time.monotonic() + seconds
            for _ in range(50):
                self.executor.spin_once(timeout_sec=max(0.0, deadline - time.monotonic()))

    def spin(self, duration):
        """Spin for `duration` s of wall time, and while many callbacks run."""
        deadline, rounds = time.monotonic() + duration, 0
        while (left := deadline - time.monotonic()) > 0.0 or rounds < 50:
            self.executor.spin_once(timeout_sec=max(0.0, min(left, 0.01)))
            rounds += 1

    def service(self, kind, name):
        """Return the client of a service that is there: a later call then takes no time."""
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
        """Set parameters of a node, one by one; return whether each was set, and why not."""
        request = SetParameters.Request(parameters=messages_of(values))
        return self.call(SetParameters, f"{name}/set_parameters", request).results

    def set_together(self, name, **values):
        """Set parameters of a node, all or none; return whether they were set, and why not."""
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
        """Return the texts on /rosout so far."""
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
