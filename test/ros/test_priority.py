"""Viewer and recorder take the processor after the nodes that they listen to."""

import os

import pytest
from fresh import output_of

pytestmark = pytest.mark.ros
GIVE_WAY = """
import os
from manip_dyn.ros.runtime.priority import give_way
{begin}
give_way(5)
print(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, os.nice(0))
"""
FIXED = "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))"


def may_fix():
    try:
        output_of(f"import os; {FIXED}")
    except Exception:  # of whatever kind: it is not permitted
        return False
    return True


def test_others_come_first():
    told = output_of(GIVE_WAY.format(begin="")).split()
    assert told == [str(os.SCHED_OTHER), "0", str(max(5, os.nice(0)))]


def test_a_fixed_priority_that_was_inherited_is_lowered():
    if not may_fix():
        pytest.skip("no fixed priority is permitted here; expected root, or CAP_SYS_NICE")
    policy, priority, _ = output_of(GIVE_WAY.format(begin=FIXED)).split()
    assert int(policy) == os.SCHED_FIFO
    assert int(priority) == os.sched_get_priority_min(os.SCHED_FIFO)
