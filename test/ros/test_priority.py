"""Viewer, recorder and planning run with lower priority than control loops."""

import os

import pytest
from fresh import output_of

pytestmark = pytest.mark.ros
SCRIPT = """
import os
from manip_dyn.ros import lower_priority
{begin}
lower_priority(5, prompt={prompt})
print(os.sched_getscheduler(0), os.sched_getparam(0).sched_priority, os.nice(0))
"""
FIXED = "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(20))"


def fixed_priority_is_permitted():
    try:
        output_of(f"import os; {FIXED}")
    except Exception:  # any error: not permitted
        return False
    return True


@pytest.mark.parametrize("prompt", [False, True])
def test_the_process_becomes_nicer(prompt):
    values = output_of(SCRIPT.format(begin="", prompt=prompt)).split()
    assert values == [str(os.SCHED_OTHER), "0", str(max(5, os.nice(0)))]


@pytest.mark.parametrize(("prompt", "expected"), [(False, "SCHED_OTHER"), (True, "SCHED_FIFO")])
def test_an_inherited_fixed_priority_is_lowered(prompt, expected):
    if not fixed_priority_is_permitted():
        pytest.skip("no fixed priority is permitted here; expected root, or CAP_SYS_NICE")
    policy, priority, _ = output_of(SCRIPT.format(begin=FIXED, prompt=prompt)).split()
    assert int(policy) == getattr(os, expected)
    assert int(priority) == os.sched_get_priority_min(int(policy))


PLANNING = f"""
import os
from manip_dyn import load_robot
from manip_dyn.ros import BangBangPlannerParameters, PlanningProcess
os.setpriority(os.PRIO_PROCESS, 0, -5)
{FIXED}
parameters = BangBangPlannerParameters(robot="rr", method="minimum_time")
process = PlanningProcess(parameters, load_robot("rr"), print)
assert process.wait_until_ready(300.0)
print(os.sched_getscheduler(process.pid), os.getpriority(os.PRIO_PROCESS, process.pid))
process.close()
"""


def test_planning_does_not_inherit_a_fixed_priority():
    """Regression: with chrt -f, planning stopped the control loop: no command took effect.

    Regression: it inherited a negative nice value.
    """
    if not fixed_priority_is_permitted():
        pytest.skip("no fixed priority is permitted here; expected root, or CAP_SYS_NICE")
    assert output_of(PLANNING).split() == [str(os.SCHED_OTHER), "0"]
