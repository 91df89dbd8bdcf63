"""Segments of one control period: whole nanoseconds, limits, impulse."""

from functools import cache

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.planning import PlanExecutor, mean_effort
from manip_dyn.simulation import Simulation

WRIST = ([0.1, 0.5, 0, 0.9, 0, -0.4, 0.01], [0.1, 0.5, 0, 0.9, 0, -0.4, 0])
PLANS = {
    "one_link_horizontal": ([1.0], [0.0]),
    "one_link_vertical": ([-1.5], [1.5]),
    "ibm7535": ([0.975, 0.0], [0.0, 0.0]),
    "pa10": WRIST,
}


@cache
def planned(name):
    robot = md.load_robot(name)
    return robot, md.plan_zero_net_work(robot, *PLANS[name])


@pytest.mark.parametrize("distance", [1.0, 0.25])
def test_an_arrival_at_a_sample_time_is_exact(distance):
    """I = 10, limit 10: at rest after 2 sqrt(distance) s, a multiple of 1/64 s."""
    robot = md.load_robot("one_link_horizontal")
    executor = PlanExecutor(robot, md.plan_zero_net_work(robot, [distance], [0.0]), 1 / 64)
    simulation = Simulation(robot, [distance], [0.0])
    for _ in range(round(2 * np.sqrt(distance) * 64) + 5):
        segments = executor.segments(simulation.time_ns * 1e-9, simulation.q, simulation.v)
        times = [simulation.time_ns + round(segment.offset * 1e9) for segment in segments]
        simulation.law = md.Schedule(robot, times, [segment.effort for segment in segments])
        simulation.advance(15_625_000)
    np.testing.assert_allclose(simulation.q, 0.0, atol=1e-9)


@pytest.mark.parametrize("name", PLANS)
def test_mean_effort_has_the_impulse_of_the_segments(name):
    robot, plan = planned(name)
    period = 0.1 * plan.t_final
    q, v = plan.state(plan.t_switch - 0.04 * plan.t_final)
    executor = PlanExecutor(robot, plan, period)
    t = plan.t_switch - 0.04 * plan.t_final
    segments = executor.segments(t, q, v)
    begins = [segment.offset for segment in segments]
    assert len(begins) > 1
    durations = np.diff([*begins, period])
    impulse = durations @ np.array([segment.effort for segment in segments])
    np.testing.assert_allclose(mean_effort(segments, period) * period, impulse)
    first = segments[0].effort
    np.testing.assert_allclose(mean_effort(segments, 0.5 * begins[1]), first, rtol=1e-12)


@pytest.mark.parametrize("name", PLANS)
def test_efforts_stay_within_the_limits(name):
    robot, plan = planned(name)
    executor = PlanExecutor(robot, plan, 1e-3)
    rng = np.random.default_rng(8)
    for _ in range(50):
        for segment in executor.segments(0.0, *rng.uniform(-1.5, 1.5, size=(2, robot.n))):
            assert np.all(np.abs(segment.effort) <= robot.tau_max)
