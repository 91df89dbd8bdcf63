"""PD backup of Fan (2003): active after a plan that misses its goal, and never otherwise."""

import numpy as np
import pytest
from closed_loop import execute

import manip_dyn as md
from manip_dyn.planning import PdBackup, PlanExecutor
from manip_dyn.simulation import Disturbance, Simulation

PERIOD = 5e-3
BACKUP = PdBackup([10.0], [20.0])
"""Critically damped for I = 10 kg m^2: a double pole at -1 / s."""


@pytest.fixture(scope="module")
def planned():
    """A link of 10 kg m^2 that turns by 1 rad in 2 s."""
    robot = md.load_robot("one_link_horizontal")
    return robot, md.plan_zero_net_work(robot, [1.0], [0.0])


def executed(planned, backup, duration, push=None):
    robot, plan = planned
    simulation = Simulation(robot, plan.q0, np.zeros(1))
    if push is not None:
        simulation.disturbance = push
    executor = PlanExecutor(robot, plan, PERIOD, backup=backup)
    execute(simulation, executor, PERIOD, duration)
    return simulation, executor


def test_the_backup_is_inactive_if_the_plan_arrives(planned):
    """Only rounding differs: with a backup, feedback acts from the first period."""
    runs = [executed(planned, backup, 2.5) for backup in (None, BACKUP)]
    assert all(executor.arrived and executor.returns == 0 for _, executor in runs)
    (plain, _), (backed, _) = runs
    np.testing.assert_allclose(plain.q, backed.q, atol=1e-12)
    np.testing.assert_allclose(plain.v, backed.v, atol=1e-12)


def test_the_backup_returns_a_pushed_link_by_its_closed_form(planned):
    """From rest at d: (1 + t) exp(-t) d; a push adds the speed w and so w t exp(-t)."""
    late = 2_100_000_000
    push = Disturbance(np.array([8.0]), late, late + 100_000_000)
    (before, _), (after, executor) = (
        executed(planned, BACKUP, duration, push) for duration in (2.2, 5.2)
    )
    d, w = before.q[0], before.v[0]
    assert abs(d) > 1e-4
    assert after.q[0] == pytest.approx((d + (d + w) * 3.0) * np.exp(-3.0), rel=0.02)
    assert executor.returns == 0
    executed_alone = executed(planned, None, 5.2, push)[0]
    assert abs(executed_alone.q[0]) < 1e-3 * abs(after.q[0])  # a return motion is much faster


def test_its_efforts_are_the_control_law_within_the_limits(planned):
    robot, _ = planned
    for q, v, effort in ((0.3, -0.1, -1.0), (3.0, 0.0, -10.0), (-3.0, 0.0, 10.0)):
        efforts = BACKUP.efforts(robot, np.array([q]), np.array([v]), np.zeros(1))
        assert efforts == pytest.approx([effort])


@pytest.mark.parametrize(
    ("kp", "kd", "words"),
    [
        ([0.0], [1.0], r"kp must be above 0, got \[0.0\]."),
        ([1.0], [np.nan], r"kd must be above 0, got \[nan\]."),
        ([1.0, 2.0], [1.0, 2.0], "kp"),
    ],
)
def test_invalid_gains_raise(planned, kp, kd, words):
    robot, plan = planned
    with pytest.raises(md.ManipDynError, match=words):
        PlanExecutor(robot, plan, PERIOD, backup=PdBackup(kp, kd))
