"""A reset is told from a motion by what the stamps and speeds explain."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control.continuity import MeasuredState, reset_reason

STATE = MeasuredState(5_000_000_000, np.array([0.1, 0.2]), np.array([0.5, -1.0]))
PUT = {
    "time went back": STATE._replace(stamp_ns=0),
    "joint 'joint_1' jumped by 0.1 rad in 0.001 s": MeasuredState(
        5_001_000_000, np.array([0.2, 0.2]), np.zeros(2)
    ),
    "joint 'joint_2' jumped by 3 rad in 0.4 s": MeasuredState(
        5_400_000_000, np.array([0.1, 3.2]), np.array([0.5, -1.0])
    ),
    # Seen: a reset amid a motion, heard 60 ms later, was led on to the target from before it.
    "joint 'joint_2' jumped by 0.0876 rad in 0.0667 s": MeasuredState(
        5_066_700_000, np.array([0.12, 0.2876]), np.zeros(2)
    ),
    "": MeasuredState(5_100_000_000, np.array([0.15, 0.1]), np.array([0.5, -1.0])),
}


@pytest.mark.parametrize("why", PUT, ids=lambda why: why or "by itself")
def test_a_reset_is_told_from_a_motion(why):
    assert reset_reason(md.load_robot("rr"), STATE, PUT[why]) == why


@pytest.mark.parametrize(("moved", "why"), [(3.0, ""), (50.0, "jumped by 50 rad in 0.6 s")])
def test_a_gap_hides_a_motion_that_both_ends_do_not_show(moved, why):
    """Seen: a planner that stood still for 0.6 s took a braked arm for one that was reset."""
    after = MeasuredState(5_600_000_000, STATE.q + np.array([moved, 0.0]), np.zeros(2))
    told = reset_reason(md.load_robot("rr"), STATE._replace(v=np.zeros(2)), after)
    assert told.endswith(why)
    assert bool(told) == bool(why)
