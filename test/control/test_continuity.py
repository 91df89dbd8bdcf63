"""Resets are distinguished from motions by stamps and speeds."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import MeasuredState, reset_reason

STATE = MeasuredState(5_000_000_000, np.array([0.1, 0.2]), np.array([0.5, -1.0]))
STATES_AFTER = {
    "time went back": STATE._replace(stamp_ns=0),
    "joint 'joint_1' jumped by 0.1 rad in 0.001 s": MeasuredState(
        5_001_000_000, np.array([0.2, 0.2]), np.zeros(2)
    ),
    "joint 'joint_2' jumped by 3 rad in 0.4 s": MeasuredState(
        5_400_000_000, np.array([0.1, 3.2]), np.array([0.5, -1.0])
    ),
    # A reset during a motion, received 60 ms later, must not continue the motion to its target.
    "joint 'joint_2' jumped by 0.0876 rad in 0.0667 s": MeasuredState(
        5_066_700_000, np.array([0.12, 0.2876]), np.zeros(2)
    ),
    "": MeasuredState(5_100_000_000, np.array([0.15, 0.1]), np.array([0.5, -1.0])),
}


@pytest.mark.parametrize("reason", STATES_AFTER, ids=lambda reason: reason or "motion")
def test_a_reset_is_distinguished_from_a_motion(reason):
    assert reset_reason(md.load_robot("rr"), STATE, STATES_AFTER[reason]) == reason


@pytest.mark.parametrize(
    ("displacement", "reason"), [(3.0, ""), (50.0, "jumped by 50 rad in 0.6 s")]
)
def test_a_long_gap_can_hide_a_motion(displacement, reason):
    """A planner that is suspended for 0.6 s must not mistake a braked arm for a reset one."""
    after = MeasuredState(5_600_000_000, STATE.q + np.array([displacement, 0.0]), np.zeros(2))
    result = reset_reason(md.load_robot("rr"), STATE._replace(v=np.zeros(2)), after)
    assert result.endswith(reason)
    assert bool(result) == bool(reason)
