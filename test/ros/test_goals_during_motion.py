"""Goals during a motion, without nodes: departures from motions of arms of any mass."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import MeasuredState
from manip_dyn.planning import PlanExecutor
from manip_dyn.ros import (
    MARGIN,
    REMEMBERED,
    BangBangPlannerParameters,
    PlannedMotion,
    PreparedPlan,
    ReplanningLead,
)
from manip_dyn.simulation import Simulation

PERIOD = 2e-3
PARAMETERS = BangBangPlannerParameters(method="minimum_time", control_period=PERIOD)
AHEAD_NS = 8_000_000
"""Time from the first command of a motion to its start: four of five periods, ns."""
START, FIRST, SECOND = [0.975, 0.0], [0.0, 0.0], [-0.6, 0.5]


@cache
def arm(mass_scale=1.0):
    return md.load_robot("ibm7535", mass_scale=mass_scale)


@cache
def first_plan():
    return md.plan_minimum_time(arm(), START, FIRST, budget=None)


def motion(plan, parameters=PARAMETERS, **options):
    return PlannedMotion(arm(), PreparedPlan.of(plan, parameters), parameters, **options)


def stamped(simulation):
    return MeasuredState(simulation.time_ns, simulation.q.copy(), simulation.v.copy())


def advance(simulation, motion):
    """Answer a state with the efforts of a motion, and simulate a period."""
    segments = motion.segments(stamped(simulation))
    times = [simulation.time_ns + round(1e9 * segment.offset) for segment in segments]
    simulation.law = md.Schedule(simulation.robot, times, [s.effort for s in segments])
    simulation.advance(round(1e9 * PERIOD))


def begun(simulation, motion):
    """Begin a motion; advance to its start, and return the stamp of the start, ns."""
    begin = motion.begin(stamped(simulation))
    while simulation.time_ns < begin:
        advance(simulation, motion)
    return begin


def motions_with_departure(simulation, request, lead):
    """Return the motion to FIRST, the motion to SECOND that departs from it, and the departure."""
    before = motion(first_plan())
    start = begun(simulation, before)
    while simulation.time_ns < start + 1e9 * request:
        advance(simulation, before)
    departure = before.departing(stamped(simulation), lead)
    plan = md.plan_minimum_time(arm(), departure.q, SECOND, v0=departure.v, budget=None)
    after = motion(plan, departure=departure)
    while not after.is_due(stamped(simulation)):
        advance(simulation, before)
    return before, after, departure


@pytest.mark.parametrize("request_time", [0.04, 0.4], ids=["before", "after"])
@pytest.mark.parametrize("scale", [0.8, 1.05, 1.1])
def test_a_wrong_mass_changes_the_handover_little(scale, request_time):
    """Requests before and after the estimation of masses. Regression: a delay of 0.1 to 1.3 s."""
    simulation = Simulation(arm(scale), START, np.zeros(2))
    before, after, departure = motions_with_departure(simulation, request_time, 0.3)
    begin = begun(simulation, after)
    assert before.pace.model.mass_ratio == pytest.approx(scale, abs=0.06)
    assert begin == departure.stamp_ns
    q, v = after.planned(MeasuredState(begin, simulation.q, simulation.v))
    np.testing.assert_allclose(simulation.q, q, atol=0.01)
    np.testing.assert_allclose(simulation.v, v, atol=0.05)
    end = 1e-9 * begin + np.sqrt(max(scale, 1.0)) * after.late(MeasuredState(begin, q, v)) * -1.0
    while simulation.time_ns < 1e9 * (end + 0.05):
        advance(simulation, after)
    np.testing.assert_allclose(simulation.q, SECOND, atol=3e-3)
    assert not after.returned()


def test_the_handover_is_exact_with_a_correct_model():
    simulation = Simulation(arm(), START, np.zeros(2))
    _, after, departure = motions_with_departure(simulation, 0.3, 0.3)
    stamp = departure.stamp_ns
    assert stamp == 600_000_000 + AHEAD_NS
    assert begun(simulation, after) == stamp
    np.testing.assert_allclose(simulation.q, departure.q, atol=1e-9)
    while after.late(stamped(simulation)) < PERIOD:
        advance(simulation, after)
    np.testing.assert_allclose(simulation.q, SECOND, atol=1e-6)
    assert (after.pace.rate, after.pace.model.mass_ratio, after.returned()) == (1.0, 1.0, False)


def test_a_departure_from_an_abandoned_motion_is_lost():
    simulation = Simulation(arm(), START, np.zeros(2))
    before, after, departure = motions_with_departure(simulation, 0.3, 0.3)
    assert not after.is_lost
    measured = stamped(simulation)
    before.segments(measured._replace(q=measured.q + 0.5))
    assert after.is_lost
    assert after.is_late(stamped(simulation))
    assert departure.stamp_ns is None


def test_a_lead_beyond_the_end_departs_from_the_end():
    """At rest the arm can wait for a late motion."""
    before = motion(first_plan())
    assert before.begin(MeasuredState(0, np.array(START), np.zeros(2))) == AHEAD_NS
    departure = before.departing(MeasuredState(10_000_000, np.array(START), np.zeros(2)), 9.0)
    assert departure.stamp_ns == AHEAD_NS + round(1e9 * first_plan().t_final)
    np.testing.assert_array_equal(departure.q, FIRST)
    assert not departure.moving
    after = motion(first_plan(), departure=departure)
    late = MeasuredState(5_000_000_000, np.array(FIRST), np.zeros(2))
    assert not after.is_late(late)
    assert after.begin(late) == late.stamp_ns + AHEAD_NS


def test_a_departure_before_the_start_is_on_the_plan():
    """Regression: the next motion was planned from rest, while the arm moved away."""
    before = motion(first_plan())
    measured = MeasuredState(0, np.array(START), np.zeros(2))
    before.begin(measured)
    departure = before.departing(measured, PERIOD)
    assert departure.moving
    assert departure.stamp_ns == pytest.approx(AHEAD_NS + round(1e9 * PERIOD), abs=1)


def on_plan(motion, stamp_ns):
    """Return the state of an arm on its plan."""
    measured = MeasuredState(stamp_ns, np.array(START), np.zeros(2))
    return MeasuredState(stamp_ns, *motion.planned(measured))


@cache
def plan_from_departure():
    parameters = replace(PARAMETERS, transport_delay=0.01)
    before = motion(first_plan(), parameters)
    before.begin(MeasuredState(0, np.array(START), np.zeros(2)))
    departure = before.departing(on_plan(before, 300_000_000), 0.3)
    return md.plan_minimum_time(arm(), departure.q, SECOND, v0=departure.v, budget=None)


def window():
    """Return two motions, and a state between the first command of the second and its start."""
    parameters = replace(PARAMETERS, transport_delay=0.01)
    before = motion(first_plan(), parameters)
    before.begin(MeasuredState(0, np.array(START), np.zeros(2)))
    departure = before.departing(on_plan(before, 300_000_000), 0.3)
    after = motion(plan_from_departure(), parameters, departure=departure)
    begin = after.begin(on_plan(before, departure.stamp_ns))
    measured = on_plan(before, departure.stamp_ns + 4_000_000)
    assert measured.stamp_ns < begin
    return before, after, measured


def same(segments, others):
    assert [segment.offset for segment in segments] == pytest.approx([s.offset for s in others])
    efforts = [[segment.effort for segment in rows] for rows in (segments, others)]
    np.testing.assert_allclose(*efforts, atol=1e-9)


def test_a_gap_before_the_start_of_a_motion_delays_both_motions():
    """Regression: the previous motion was ahead of the arm after the gap."""
    _, after, measured = window()
    segments = after.segments(measured)
    _, after, measured = window()
    after.hold(50_000_000)
    same(segments, after.segments(measured._replace(stamp_ns=measured.stamp_ns + 50_000_000)))


def test_a_brake_before_the_start_of_a_motion_interrupts_both_motions(monkeypatch):
    """Regression: the previous motion attributed its effect to masses and friction."""
    interrupted = []
    monkeypatch.setattr(PlanExecutor, "interrupt", lambda self: interrupted.append(self))
    _, after, _ = window()
    after.interrupt()
    assert len(set(interrupted)) == 2


@pytest.mark.parametrize(("periods", "ahead"), [(0, 0), (1, 0), (2, 1), (5, 4), (100, 10)])
def test_a_motion_starts_while_its_first_command_is_valid(periods, ahead):
    """The start is at most 20 ms after the first command. Commands without an end have none."""
    parameters = replace(PARAMETERS, command_periods=periods)
    begin = motion(first_plan(), parameters).begin(MeasuredState(7, np.array(START), np.zeros(2)))
    assert begin == 7 + ahead * 2_000_000


def test_mean_efforts_start_with_the_first_command():
    parameters = replace(PARAMETERS, switching="sampled")
    begin = motion(first_plan(), parameters).begin(MeasuredState(7, np.array(START), np.zeros(2)))
    assert begin == 7


def test_the_lead_follows_recent_planning_times():
    lead = ReplanningLead()
    assert lead.seconds(0.5) == 0.5
    lead.note(1.0)
    assert lead.seconds(0.5) == MARGIN
    for _ in range(REMEMBERED):
        lead.note(0.1)
    assert lead.seconds(0.5) == 0.5
    lead.note(2.0)
    for _ in range(REMEMBERED + 1):
        lead.forget_one()
    assert lead.seconds(0.5) == 0.5
