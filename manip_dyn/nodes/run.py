"""Start a node, spin it until it is told to stop, end with a meaningful exit code."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

import rclpy
from rclpy._rclpy_pybind11 import RCLError
from rclpy.exceptions import NotInitializedException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.logging import get_logger
from rclpy.node import Node

from manip_dyn.errors import ManipDynError

STOPPED, BAD_INPUT = 0, 2


def run(factory: Callable[[], Node], args: list[str] | None = None) -> int:
    """Create the node, spin it and return the exit code.

    0 after SIGINT or SIGTERM, 2 with one clear line when its parameters or robot are refused.
    """
    # The pacing thread must get the interpreter within a fraction of a control period.
    sys.setswitchinterval(2e-4)
    node, begun = None, False
    try:
        rclpy.init(args=args)
        begun = True
        node = factory()
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        executor.spin()
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except ManipDynError as error:
        get_logger("manip_dyn").fatal(str(error))
        return BAD_INPUT
    except (RCLError, NotInitializedException) as error:
        if begun and not rclpy.ok():
            return STOPPED  # by a signal, while the node was being made
        get_logger("manip_dyn").fatal(str(error).strip().splitlines()[0])
        return BAD_INPUT
    except Exception:
        if begun and not rclpy.ok():
            return STOPPED  # the signal came while numba compiled, which makes an error of it
        raise
    finally:
        # Launch systems send a second signal; the node is ending already.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        if node is not None:
            if hasattr(node, "close"):
                node.close()
            node.destroy_node()
        rclpy.try_shutdown()
    return STOPPED


def unless_shut_down(node: Node, publish: Callable[[], None]) -> None:
    """Call `publish` from a thread of the node's own; a shutdown meanwhile is no error."""
    try:
        if node.context.ok():
            publish()
    except RCLError:
        if node.context.ok():
            raise
