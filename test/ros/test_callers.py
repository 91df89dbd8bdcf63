"""Who says something to the log is told, without a look at any source."""

import inspect
import sys
from types import ModuleType

import pytest
from rclpy.logging import get_logger

from manip_dyn.ros.runtime import callers
from manip_dyn.ros.runtime.callers import tell_by_frame


def test_a_message_tells_its_place_and_no_source_is_read(ros, monkeypatch):
    monkeypatch.setattr(inspect, "findsource", lambda _: pytest.fail("a source is looked for"))
    tell_by_frame()
    line = inspect.currentframe().f_lineno + 1
    ros.probe.get_logger().warning("here")
    ros.expect_warning("here")
    (told,) = (each for each in ros.log if each.msg == "here")
    here = (__file__, "test_a_message_tells_its_place_and_no_source_is_read", line)
    assert (told.file, told.function, told.line) == here


def test_all_that_inspect_tells_is_there_for_another_rclpy():
    tell_by_frame()
    asked = sys.modules[type(get_logger("any")).__module__].inspect.getframeinfo
    frame = inspect.currentframe()
    whole, mine = inspect.getframeinfo(frame), asked(frame)
    assert (mine.filename, mine.function) == (whole.filename, whole.function)
    assert asked(frame, context=1).code_context[0].strip().startswith("assert asked(frame")


def test_loggers_that_do_not_ask_inspect_are_left_alone(monkeypatch):
    """Those of another rclpy, in a module of another name."""
    other = ModuleType("other_loggers")
    monkeypatch.setitem(sys.modules, other.__name__, other)
    logger = type("Logger", (), {"__module__": other.__name__})
    monkeypatch.setattr(callers, "get_logger", lambda name: logger())
    tell_by_frame()
    assert not hasattr(other, "inspect")
