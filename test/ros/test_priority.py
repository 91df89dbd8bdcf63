"""Viewer and recorder take the processor after the nodes that they listen to."""

import os

import pytest
from fresh import output_of

pytestmark = pytest.mark.ros
SCRIPT = """
import os
from manip_dyn.ros.runtime.environment import lower_priority
{begin}
lower_priority(5, prompt={prompt})
print(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, os.nice(0))
"""
FIXED = "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))"


def may_fix():
    try:
        output_of(f"import os; {FIXED}")
    except Exception:  # of whatever kind: it is not permitted
        return False
    return True


@pytest.mark.parametrize("prompt", [False, True])
def test_others_come_first(prompt):
    told = output_of(SCRIPT.format(begin="", prompt=prompt)).split()
    assert told == [str(os.SCHED_OTHER), "0", str(max(5, os.nice(0)))]


@pytest.mark.parametrize(("prompt", "left"), [(False, "SCHED_OTHER"), (True, "SCHED_FIFO")])
def test_a_fixed_priority_that_was_inherited_is_lowered(prompt, left):
    if not may_fix():
        pytest.skip("no fixed priority is permitted here; expected root, or CAP_SYS_NICE")
    policy, priority, _ = output_of(SCRIPT.format(begin=FIXED, prompt=prompt)).split()
    assert int(policy) == getattr(os, left)
    assert int(priority) == os.sched_get_priority_min(int(policy))
