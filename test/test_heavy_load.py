"""Loads beyond the effort limit in the middle of a motion: moved if possible, or rejected."""

import signal
from contextlib import contextmanager

import numpy as np
import pytest
from arms import write_shipped

import manip_dyn as md

LIMIT = 8.0
"""Effort limit of the vertical link (Fan 2003, section 4.2.4), N m."""


@contextmanager
def within(seconds):
    """Fail a test that takes longer than `seconds`."""

    def stop(*_):
        raise TimeoutError(f"took longer than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def loaded_link(folder, moment):
    """Return the vertical link with the gravity moment `moment` (N m) in the horizontal."""
    mass = (moment - 5.0 * 9.8 * 0.15) / (9.8 * 0.3)
    payload = {"link": "tool0", "mass": mass}
    return md.load_robot(write_shipped(folder, "one_link_vertical", payload=payload))


def can_move(moment, start, goal):
    """Return whether the kinetic energies around the switch of eq. 4.48 are positive."""

    def lifted(a, b):
        return moment * (np.sin(b) - np.sin(a))

    switch = (start + goal) / 2 + np.sign(goal - start) * lifted(start, goal) / (2 * LIMIT)
    driven, braked = np.linspace(start, switch, 1001)[1:], np.linspace(switch, goal, 1001)[:-1]
    energy_driven = LIMIT * np.abs(driven - start) - lifted(start, driven)
    energy_braked = LIMIT * np.abs(goal - braked) + lifted(braked, goal)
    return min(energy_driven.min(), energy_braked.min()) > 0.0


def end_of(robot, start, goal):
    """Return the simulated end of the plan, or the error message."""
    try:
        plan = md.plan_zero_net_work(robot, [start], [goal])
    except md.ManipDynError as error:
        return str(error)
    times, efforts = zip(*plan.samples(10.0), strict=True)
    schedule = md.Schedule(robot, [round(t * 1e9) for t in times], efforts)
    return md.simulate(robot, [start], [0.0], schedule, plan.t_final).q[-1]


@pytest.mark.parametrize("moment", [9.0, 10.5, 12.5, 16.0])
@pytest.mark.parametrize("start", [1.4, 1.2, -1.2, -1.4])
def test_a_heavy_link_is_moved_if_possible(tmp_path, moment, start):
    """Upwards the link may stall in the horizontal, downwards it may diverge from there."""
    with within(600.0):
        end = end_of(loaded_link(tmp_path, moment), start, -start)
    if can_move(moment, start, -start):
        np.testing.assert_allclose(end, [-start], atol=1e-6)
    else:
        assert "joint 'joint_1'" in str(end)
