"""A signal while a node starts: no thread of the node raises an exception."""

import pytest
from fresh import Fresh

pytestmark = pytest.mark.ros
SCRIPT = """
import time
from std_msgs.msg import Empty
from manip_dyn.ros import PeriodicThread, run, unless_shut_down

class Interrupted:
    name = "interrupted"

    def __init__(self, node):
        publisher = node.create_publisher(Empty, "topic", 1)
        publish = lambda: publisher.publish(Empty())
        PeriodicThread(lambda: unless_shut_down(node, publish), 0.001).start()
        time.sleep(0.05)
        raise KeyboardInterrupt

code = run(Interrupted, ["node"])
time.sleep(0.05)
raise SystemExit(code)
"""


def test_no_thread_of_an_interrupted_node_raises():
    ended = Fresh(SCRIPT).wait()
    assert ended.returncode == 0
    assert "Exception in thread" not in ended.stderr
