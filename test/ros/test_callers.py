"""Who says something to the log is told, without a look at any source."""

import inspect

import pytest

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
