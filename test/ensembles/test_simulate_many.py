"""Many motions side by side: each is what `md.simulate` makes of it, whatever runs beside it."""

import dataclasses
import json
import threading

import numpy as np
import pytest
from fresh import output_of

import manip_dyn as md
from manip_dyn.ensembles import batch_simulation
from manip_dyn.ensembles.lanes.runge_kutta_loop import run_lanes

N, DURATION, PERIOD = 11, 0.2, 0.05
"""More motions than lanes, so that lanes take a second one."""
ROBOT = md.load_robot("rr")
DRAW = np.random.default_rng(0)
Q0, V0, TAU = (DRAW.uniform(-0.5, 0.5, (N, ROBOT.n)) for _ in range(3))
GAINS = DRAW.uniform(1.0, 3.0, (N, ROBOT.n))
SCHEDULES = [
    md.Schedule(ROBOT, [0, 30_000_000 + 1_000_003 * i, 90_000_000], [tau, -tau, 0.0 * tau])
    for i, tau in enumerate(TAU)
]
ROW = np.arange(N)[:, None]
WORDS = ("t", "q", "v", "tau", "energy")
KERNELS = md.customize(ROBOT)


class InPython:
    """A law that runs in Python."""

    def __init__(self, law):
        self.law = law

    def __call__(self, t, q, v):
        return self.law(t, q, v)


def many(effort=TAU, **named):
    return md.simulate_many(ROBOT, Q0, V0, effort, DURATION, **{"sample_period": PERIOD} | named)


def one(i, effort, **named):
    return md.simulate(ROBOT, Q0[i], V0[i], effort, DURATION, **{"sample_period": PERIOD} | named)


def same(mine, alone, rounding=1e-13):
    """Whether a motion is that of `simulate`, to rounding; its steps are the same."""
    assert mine.status is alone.status
    assert mine.statistics == alone.statistics
    for word in WORDS:
        got, expected = getattr(mine, word), getattr(alone, word)
        np.testing.assert_allclose(
            got, expected, rtol=0.0, atol=rounding * max(1.0, np.abs(expected).max())
        )


@pytest.mark.parametrize("method", ["rk4", "rkdp54", "euler_trapezoidal"])
def test_a_motion_is_that_of_simulate(method):
    # Methods that go on from their last stage do so at samples, where `simulate` begins anew.
    named = {"method": method, "sample_period": DURATION if method == "rkdp54" else PERIOD}
    made = many(**named)
    assert made.success.all()
    for i in (0, 5, N - 1):
        same(made.trajectory(i), one(i, TAU[i], **named))


def test_schedules_switch_where_they_should():
    made = many(SCHEDULES)
    for i in (0, 7, N - 1):
        same(made.trajectory(i), one(i, SCHEDULES[i]))


@pytest.mark.parametrize("method", ["rkdp54", "rkdp87"])
def test_each_motion_has_steps_of_its_own_under_control(method):
    named = {"method": method, "rtol": 1e-9, "atol": 1e-9, "sample_period": DURATION}
    starts = V0 * np.linspace(0.1, 20.0, N)[:, None]
    made = md.simulate_many(ROBOT, Q0, starts, TAU, DURATION, **named)
    assert len(set(made.steps)) > 2
    for i in (0, 5, N - 1):
        alone = md.simulate(ROBOT, Q0[i], starts[i], TAU[i], DURATION, **named)
        same(made.trajectory(i), alone, rounding=1e-11)


TIGHT = {"method": "taylor", "rtol": 1e-10, "atol": 1e-10}


@pytest.mark.parametrize("tolerances", [(1e-9, 1e-9), (1e-6, 1e-12), (1e-17, 0.0)])
def test_series_are_those_of_simulate(tolerances):
    """Orders that differ from motion to motion, and one beyond those that are unrolled."""
    named = {"method": "taylor", "rtol": tolerances[0], "atol": tolerances[1]}
    starts = V0 * np.linspace(0.1, 20.0, N)[:, None]
    made = md.simulate_many(ROBOT, Q0, starts, TAU, 0.6, sample_period=0.25, **named)
    assert len(set(made.steps)) > 2
    for i in (0, 5, N - 1):
        alone = md.simulate(ROBOT, Q0[i], starts[i], TAU[i], 0.6, sample_period=0.25, **named)
        same(made.trajectory(i), alone, rounding=1e-12)


def test_series_of_fixed_steps_follow_schedules():
    named = {"method": "taylor", "order": 7, "step": 0.03}
    made = many(SCHEDULES, **named)
    for i in (0, 7, N - 1):
        same(made.trajectory(i), one(i, SCHEDULES[i], **named))
    np.testing.assert_array_equal(made.over_time.tau_peak, np.abs(TAU))


@pytest.mark.parametrize(
    "given", [{}, {"mass_scale": 1.2 - 0.02 * ROW, "payload": [1.0] + [0.1] * 6 + [0.0] * 3}]
)
def test_series_and_runge_kutta_agree(given):
    """With inertial parameters of each motion, too."""
    made, other = many(**TIGHT, **given), many(**TIGHT | {"method": "rkdp87"}, **given)
    np.testing.assert_allclose(made.q, other.q, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(made.energy, other.energy, rtol=0.0, atol=1e-7)


def test_a_series_that_fails_disturbs_no_other():
    wild = V0.copy()
    wild[3] = 1e200
    made = md.simulate_many(ROBOT, Q0, wild, TAU, DURATION, sample_period=PERIOD, **TIGHT)
    calm, good = many(**TIGHT), np.arange(N) != 3
    np.testing.assert_array_equal(made.q[good], calm.q[good])
    assert made.status[3] == md.Status.NON_FINITE
    assert made.success.sum() == N - 1


@pytest.mark.parametrize("compensation", ["none", "gravity", "computed_torque"])
def test_feedback_with_gains_of_its_own(compensation):
    made = many(md.PDControl(Q0 + 0.1, GAINS, 0.3, compensation), step=2e-3)
    inverse, still = KERNELS.unchecked.inverse_dynamics, np.zeros(ROBOT.n)

    def law(_t, q, v):
        error = GAINS[0] * (Q0[0] + 0.1 - q) - 0.3 * v
        if compensation == "computed_torque":
            return inverse(q, v, error)
        return error + (inverse(q, still, still) if compensation == "gravity" else still)

    same(made.trajectory(0), one(0, InPython(law), step=2e-3))
    alone = md.PDControl(Q0[N - 1] + 0.1, GAINS[N - 1], 0.3, compensation)
    same(made.trajectory(N - 1), one(N - 1, alone, step=2e-3))


class Cubic:
    """A motion from Q0[0] to Q0[1] whose positions are cubic in time, as references are."""

    knots = np.array([0.0, DURATION])

    def state(self, t):
        s, way = t / DURATION, Q0[1] - Q0[0]
        return Q0[0] + s * s * (3.0 - 2.0 * s) * way, 6.0 * s * (1.0 - s) / DURATION * way

    def effort(self, t):
        a = (6.0 - 12.0 * t / DURATION) / DURATION**2 * (Q0[1] - Q0[0])
        return KERNELS.inverse_dynamics(*self.state(t), a)

    def samples(self, period):
        return [(t, self.effort(t)) for t in np.arange(0.0, DURATION - 1e-9, period)]


PLAN = md.Plan(
    *(ROBOT, Q0[0], Q0[1], DURATION, [[], []], [DURATION] * 2, Cubic()),
    *(np.zeros(ROBOT.n), "cubic", "solved", "made here"),
)


def test_a_plan_is_followed_exactly_by_computed_torque():
    control = md.PDControl(PLAN, 25.0, 10.0, "computed_torque")
    strong = dataclasses.replace(ROBOT, tau_max=np.full(ROBOT.n, np.inf))
    made = md.simulate_many(strong, Q0[0], 0.0, control, DURATION, 1e-3, 0.04)
    for t, q, v in zip(made.t, made.q[0], made.v[0], strict=True):
        np.testing.assert_allclose([q, v], PLAN.state(t), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("compensation", ["none", "gravity", "computed_torque"])
def test_one_motion_follows_a_plan_as_many_do(compensation):
    """To rounding, but where the acceleration counts: it jumps between samples of the motion."""
    control, start = md.PDControl(PLAN, 25.0, 10.0, compensation), Q0[0] + 0.01
    made = md.simulate_many(ROBOT, start, 0.0, control, 1.5 * DURATION, 1e-3, PERIOD)
    control = dataclasses.replace(control, target=[PLAN])
    alone = md.simulate(ROBOT, start, np.zeros(2), control, 1.5 * DURATION, 1e-3, PERIOD)
    same(made.trajectory(0), alone, rounding=1e-8 if compensation == "computed_torque" else 1e-12)


def test_the_efforts_of_plans_are_played_back():
    made = md.simulate_many(ROBOT, Q0[:1], 0.0, [PLAN, PLAN], DURATION, 1e-3, 0.05)
    times, efforts = zip(*PLAN.samples(1e-3), strict=True)
    schedule = md.Schedule(ROBOT, [round(1e9 * t) for t in times], efforts)
    assert len(made) == 2
    for law in (schedule, PLAN):
        alone = md.simulate(ROBOT, Q0[0], np.zeros(2), law, DURATION, 1e-3, 0.05)
        same(made.trajectory(1), alone)


def swinging(t, q, v, p):
    """A law that raises after p[2], s, and gives no number after p[3], s."""
    if t > p[2]:
        raise ValueError("no more")
    return p[0] * np.sin(9.0 * t) - p[1] * v + 0.0 * np.sqrt(p[3] - t)


def test_a_function_with_parameters():
    values = np.hstack([DRAW.uniform(0.5, 1.0, (N, 2)), np.ones((N, 2))])
    made = many(swinging, parameters=values, step=2e-3)
    first, second = values[0, :2]
    alone = InPython(lambda t, _q, v: first * np.sin(9.0 * t) - second * v)
    same(made.trajectory(0), one(0, alone, step=2e-3))
    same(made.trajectory(N - 1), one(N - 1, swinging, step=2e-3, parameters=values[N - 1]))


def test_a_number_per_motion_is_for_all_joints():
    column = 0.5 * np.ones((N, 1))
    wide, narrow = (many(md.PDControl(x, 1.0, x), mass_scale=x) for x in (column + 0 * Q0, column))
    np.testing.assert_array_equal(wide.q, narrow.q)


def test_one_time_loop_is_compiled_whatever_is_given():
    """Seen: one more for every mixture of rows for each motion and rows for all."""
    for effort in (TAU[0], md.PDControl(Q0[0], 1.0, GAINS), md.PDControl(Q0, GAINS[0], 1.0)):
        assert many(effort).success.all()
    assert len(run_lanes.overloads) == 1


def test_gravity_compensation_is_the_same_law():
    made = many(md.gravity_compensation(ROBOT))
    same(made.trajectory(3), one(3, md.gravity_compensation(KERNELS)))


def test_damping_and_masses_are_those_of_another_robot():
    scale, damping = DRAW.uniform(0.8, 1.2, (N, ROBOT.n)), DRAW.uniform(0.0, 1.0, (N, ROBOT.n))
    scale[0], damping[0] = 1.0, ROBOT.damping  # the arm itself
    made = many(mass_scale=scale, damping=damping)
    same(made.trajectory(0), one(0, TAU[0]))
    bodies = [
        dataclasses.replace(each, mass=s * each.mass, inertia=s * each.inertia)
        if dataclasses.is_dataclass(each)
        else each._replace(mass=s * each.mass, inertia=s * each.inertia)
        for each, s in zip(ROBOT.bodies, scale[-1], strict=True)
    ]
    other = dataclasses.replace(ROBOT, bodies=tuple(bodies), damping=damping[-1])
    alone = md.simulate(other, Q0[-1], V0[-1], TAU[-1], DURATION, sample_period=PERIOD)
    same(made.trajectory(N - 1), alone)


def test_a_payload_is_that_of_the_kernels():
    payload = np.array([2.0, 0.05, 0.02, 0.1, 0.02, 0.02, 0.03, 0.001, 0.002, 0.003])
    payloads = payload * np.linspace(0.0, 1.0, N)[:, None]
    payloads[:, 1:4] = payload[1:4]
    h = 1e-6
    made = md.simulate_many(ROBOT, Q0, V0, TAU, 2.0 * h, h, h, payload=payloads)
    for i in range(N):
        there = made.q[i, 1], made.v[i, 1], TAU[i]
        expected = KERNELS.forward_dynamics(*there, payload=payloads[i])
        slope = (made.v[i, 2] - made.v[i, 0]) / (2.0 * h)
        np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-7)
    assert np.abs(made.energy_end[:, 3]).max() < 1e-12


# --------------------------------------------------------------------- failures are rows
def test_a_motion_that_fails_disturbs_no_other():
    wild = V0.copy()
    wild[3], wild[5] = 1e200, 1e6
    good = [i for i in range(N) if i not in (3, 5)]
    made = md.simulate_many(ROBOT, Q0, wild, TAU, DURATION, sample_period=PERIOD)
    calm = many()
    assert list(np.flatnonzero(~made.success)) == [3, 5]
    for word in WORDS[1:]:
        np.testing.assert_array_equal(getattr(made, word)[good], getattr(calm, word)[good])
    assert made.status[3] == md.Status.NON_FINITE
    assert "diverged at 0.000000 s" in made.reason[3]
    assert made.reason[0] == "the whole duration was simulated"
    assert np.isfinite(made.q_end).all()
    assert np.isnan(made.q[3, 1:]).all()
    alone = md.simulate(ROBOT, Q0[5], wild[5], TAU[5], DURATION, sample_period=PERIOD)
    assert made.trajectory(5).reason.endswith(alone.reason.split("diverged")[1])
    assert made.steps[5] == alone.statistics.steps


def test_the_loop_is_compiled_before_threads_begin(monkeypatch):
    """Seen: Ctrl-C waited for the threads, each of which compiled."""
    begun = []

    def recorded(*given):
        begun.append((threading.current_thread() is threading.main_thread(), *given[-2:]))
        return run_lanes(*given)

    monkeypatch.setattr(batch_simulation, "run_lanes", recorded)
    many(threads=2)
    in_main, first, last = begun[0]
    assert in_main
    assert first == last
    assert len(begun) > 2
    assert not any(each[0] for each in begun[1:])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_a_motion_is_the_same_whatever_runs_beside_it(threads):
    made = many(threads=threads)
    few = md.simulate_many(
        ROBOT, Q0[4:6], V0[4:6], TAU[4:6], DURATION, sample_period=PERIOD, threads=1
    )
    np.testing.assert_array_equal(made.q[4:6], few.q)
    np.testing.assert_array_equal(made.energy[4:6], few.energy)
    for name, value in vars(few.over_time).items():
        np.testing.assert_array_equal(getattr(made.over_time, name)[4:6], value)


@pytest.mark.parametrize(("how", "near"), [({}, 1e-11), (TIGHT, 1e-9)], ids=["rk4", "taylor"])
def test_a_joint_limit_ends_a_motion(how, near):
    """As that of `simulate` by rk4, whose own errors are below 1e-10."""
    arm = dataclasses.replace(ROBOT, q_min=np.full(ROBOT.n, -0.6), q_max=np.full(ROBOT.n, 0.6))
    fast = 10.0 * V0
    named = {"sample_period": DURATION, "stop_at_limits": True}
    made = md.simulate_many(arm, Q0, fast, TAU, DURATION, **named | how)
    assert 0 < made.success.sum() < N
    for i in range(N):
        alone = md.simulate(arm, Q0[i], fast[i], TAU[i], DURATION, **named)
        assert made.reason[i] == alone.reason
        np.testing.assert_allclose(made.q_end[i], alone.q[-1], atol=near)
        np.testing.assert_allclose(made.t_end[i], alone.t[-1], atol=1e-9)
    if how:
        (first, *_) = np.flatnonzero(~made.success)
        alone = md.simulate(arm, Q0[first], fast[first], TAU[first], DURATION, **named | how)
        assert made.reason[first] == alone.reason
        np.testing.assert_allclose(made.q_end[first], alone.q[-1], atol=1e-11)


def test_a_law_without_a_number_ends_its_motion_as_that_of_simulate():
    """Where a law gives NaN: at once, later, or in one motion alone."""
    values = np.array([[0.1, 1.0, 9.0, end + 1e-6] for end in (-1.0, 0.05, 1.0)])
    made = md.simulate_many(ROBOT, Q0[:3], V0[:3], swinging, 0.1, 0.01, parameters=values)
    names = ["NON_FINITE", "NON_FINITE", "SUCCESS"]
    assert [md.Status(each).name for each in made.status] == names
    assert "diverged at 0.050000 s (numbers became infinite or NaN)" in made.reason[1]
    for i, name in enumerate(names):
        named = {"step": 0.01, "sample_period": 0.1, "parameters": values[i]}
        alone = md.simulate(ROBOT, Q0[i], V0[i], swinging, 0.1, **named)
        assert alone.status.name == name
        assert alone.reason.split("diverged")[-1] == made.reason[i].split("diverged")[-1]


@pytest.mark.parametrize("at", [0.035, -1.0])
def test_a_law_that_raises_ends_its_motion(at):
    """At the last good step, in one motion as in many; one tells what was raised where."""
    parameters = [0.0, 1.0, at, 1.0]
    made = md.simulate_many(ROBOT, Q0[:1], V0[:1], swinging, 0.1, 0.01, parameters=parameters)
    alone = md.simulate(ROBOT, Q0[0], V0[0], swinging, 0.1, 0.01, parameters=parameters)
    assert alone.status.name == md.Status(made.status[0]).name == "NON_FINITE"
    assert made.t_end[0] == pytest.approx(alone.t[-1]) == pytest.approx(0.03 if at > 0 else 0.0)
    np.testing.assert_allclose(made.q_end[0], alone.q[-1], atol=1e-13)
    assert "an effort law that neither raises nor returns NaN" in made.reason[0]
    line = swinging.__code__.co_firstlineno + 3
    assert f"ValueError: no more ('swinging', line {line} of {__file__})" in alone.reason


class Raising:
    """A law that runs in Python."""

    def __call__(self, t, q, v):
        if t > 0.035:
            raise ValueError("no more")
        return -v


def test_a_law_that_raises_in_python_ends_its_motion_too():
    alone = md.simulate(ROBOT, Q0[0], V0[0], Raising(), 0.1, 0.01)
    assert alone.status.name == "NON_FINITE"
    assert alone.t[-1] == pytest.approx(0.03)
    assert "ValueError: no more ('__call__', line" in alone.reason
    with pytest.raises(md.ManipDynError, match=r"a Raising, which runs in Python\. Use a func"):
        one(0, Raising(), method="rkdp54", rtol=1e-6)
    with pytest.raises(md.ManipDynError, match="NameError: name 'nothing' is not defined"):
        one(0, lambda t, q, v: nothing)  # noqa: F821


LIKE_NAMED = (
    lambda t, q, v: np.array([1.0 / (t - t), 0.0]),
    lambda t, q, v: np.array([-0.3, 0.0]) + 0.0 * v,
    lambda t, q, v: np.array([0.3, 0.0]) + 0.0 * v,
)


def test_functions_of_one_name_are_told_apart():
    """Seen: all lambdas of a file were the first of them; some differ in a constant only."""
    for law, end in zip(LIKE_NAMED, (ROBOT.tau_max[0], -0.3, 0.3), strict=True):
        made = md.simulate_many(ROBOT, Q0[:1], V0[:1], law, 0.02, 0.01)
        np.testing.assert_array_equal(made.tau_end, [[end, 0.0]])


def test_what_is_infinite_saturates():
    """A division by zero is numpy's, compiled or not: its effort is the limit."""
    law = LIKE_NAMED[0]
    ends = md.simulate_many(ROBOT, Q0[:1], V0[:1], law, 0.02, 0.01)
    for each in (law, InPython(law)):
        alone = md.simulate(ROBOT, Q0[0], V0[0], each, 0.02, 0.01)
        assert alone.success
        assert alone.tau[-1, 0] == ends.tau_end[0, 0] == ROBOT.tau_max[0]
        assert alone.saturated.all(axis=0).tolist() == ends.saturated[0].tolist() == [True, False]


def test_it_says_which_efforts_were_cut_off():
    """At the limit because more was wanted, but not because just that was."""
    limit, wanted = ROBOT.tau_max, np.zeros((3, ROBOT.n))
    wanted[0, 0], wanted[1] = 2.0 * limit[0], limit
    made = md.simulate_many(ROBOT, Q0[:3], V0[:3], wanted, 0.02, 0.01)
    assert made.saturated.tolist() == [[True, False], [False, False], [False, False]]
    later = md.Schedule(ROBOT, [0, 10_000_000], [0.0 * limit, 2.0 * limit])
    both = md.simulate_many(ROBOT, Q0[:2], V0[:2], [later, later], 0.02, 0.01, 0.01)
    for found in (made.trajectory(0), md.simulate(ROBOT, Q0[0], V0[0], wanted[0], 0.02, 0.01)):
        assert found.saturated.all(axis=0).tolist() == [True, False]
    for found in (both.trajectory(1), md.simulate(ROBOT, Q0[0], V0[0], later, 0.02, 0.01)):
        assert found.saturated.tolist() == [[False] * 2, [True] * 2, [True] * 2]
    stiff = md.PDControl(Q0[0] + 1.0, 1e6, 0.0)
    assert md.simulate_many(ROBOT, Q0[:1], V0[:1], stiff, 0.02, 0.01).saturated.all()
    assert one(0, stiff, step=0.01).saturated[0].all()


def test_a_limit_in_the_very_first_step_is_found():
    """At times near zero no two numbers are too close to be told apart: the search has to end."""
    arm = dataclasses.replace(ROBOT, q_min=np.full(ROBOT.n, -0.6), q_max=np.full(ROBOT.n, 0.6))
    start = [0.6 - 1e-5, 0.0], [1.0, 0.0], 0.0, 0.01
    made = md.simulate_many(arm, *start, stop_at_limits=True)
    assert made.t_end[0] == pytest.approx(1e-5, rel=1e-3)
    assert made.status[0] == md.Status.EVENT


AS_PYTHON = """
import manip_dyn as md
robot = md.load_robot("rr")
named = {"method": "taylor", "rtol": 1e-9, "mass_scale": 1.1}
made = md.simulate_many(robot, [[0.1, 0.2], [0.3, -0.4]], 1.0, 0.5, 0.3, **named)
print(made.q_end.tolist())
"""


def test_series_run_as_plain_python():
    plain, compiled = (
        np.array(json.loads(output_of(AS_PYTHON, NUMBA_DISABLE_JIT=off).splitlines()[-1]))
        for off in ("1", "0")
    )
    np.testing.assert_allclose(plain, compiled, rtol=0.0, atol=1e-13)


# --------------------------------------------------------------------- what is kept
def test_statistics_are_those_of_every_step():
    made, dense = many(), many(sample_period=1e-3)
    seen = made.over_time
    np.testing.assert_allclose(seen.q_min, dense.q.min(axis=1), atol=1e-14)
    np.testing.assert_allclose(seen.v_max, dense.v.max(axis=1), atol=1e-14)
    mean = (dense.v[:, 1:] + dense.v[:, :-1]).mean(axis=1) / 2.0
    np.testing.assert_allclose(seen.v_mean, mean, atol=1e-13)
    np.testing.assert_array_equal(seen.tau_peak, np.abs(TAU))
    np.testing.assert_allclose(made.q_end, dense.q[:, -1], atol=1e-13)
    np.testing.assert_array_equal(made.energy_end, made.energy[:, -1])


def test_it_says_what_became_of_it():
    made = many()
    assert repr(made) == f"Ensemble({N} motions of 'rr': {N} SUCCESS)"
    assert len(made) == N
    assert made.q.shape == (N, len(made.t), ROBOT.n)


def test_xarray_names_the_axes():
    pytest.importorskip("xarray")
    found = many().to_xarray()
    assert found["q"].dims == ("motion", "time", "joint")
    assert found["energy"].sel(part="kinetic").shape == (N, 5)


def beyond_parameters(t, q, v, p):
    return p[5] * q


BAD = {
    "v0 must have one row, or 11 rows like q0, got 3": {"v0": V0[:3]},
    "q0 must be a number, (2,), or (N, 1) or (N, 2) for N motions, got shape (11, 3)": {
        "q0": np.zeros((N, 3))
    },
    "mass_scale must be a number, (2,), or (N, 1) or": {"mass_scale": np.ones((N, 3))},
    "v0 must be a number, (2,), or": {"v0": np.zeros(3)},
    "payload must be (10,), or (N, 10) for": {"payload": 1.0},
    "target must have one row, or 11 rows like q0, got 3": {
        "effort": md.PDControl(Q0[:3], 1.0, 1.0)
    },
    "stiffness must have one row, or 3 rows like target, got 11": {
        "q0": Q0[0],
        "v0": 0.0,
        "effort": md.PDControl(Q0[:3], GAINS, 1.0),
    },
    "damping of the PDControl must have one row, or 11 rows": {
        "effort": md.PDControl(0.0, 1.0, GAINS[:3])
    },
    "parameters must have one row, or 11 rows like q0, got 3": {
        "parameters": np.ones((3, 4)),
        "effort": swinging,
    },
    "index 5 is out of bounds for axis 0 with size 3": {
        "parameters": np.ones((N, 3)),
        "effort": beyond_parameters,
    },
    "expected q and v of 2 numbers, p of 3": {
        "parameters": np.ones((N, 3)),
        "effort": beyond_parameters,
    },
    "v0 of motion 4 must be finite numbers, got [nan, nan]": {
        "v0": np.where(ROW == 4, np.nan, V0)
    },
    "got 'rodas5p' of the family Rosenbrock-Nystrom": {"method": "rodas5p"},
    "effort must be a number, (2,), or (N, 1) or (N, 2)": {"effort": "brake"},
    "must be a function (t, q, v), or (t, q, v, p)": {"effort": lambda t: t},
    "parameters require a callable effort": {"parameters": [1.0]},
    "parameters must be numbers (k,), or (N, k)": {
        "parameters": 3.0,
        "effort": lambda t, q, v, p: q,
    },
    "the effort law must return an array of shape (2,), got shape (3,)": {
        "effort": lambda t, q, v: np.zeros(3)
    },
    "threads is 0": {"threads": 0},
    "rtol must be 0, or 1e-20 or more, got 1e-30": {"rtol": 1e-30, "method": "rkdp54"},
    "duration is 1e+30 s; expected 4.61169e+09 s at most": {"duration": 1e30},
    "stop_at_limits is 'no'; expected true or false": {"stop_at_limits": "no"},
    "method must be one of md.METHODS, got ['rk4']": {"method": ["rk4"]},
    "for method 'taylor' without tolerances, got None": {"method": "taylor"},
    "effort must not depend on the state": {"effort": md.PDControl(Q0, 1, 1)} | TIGHT,
    "damping must be None with method 'taylor'": {"damping": 1.0} | TIGHT,
    "sample_period is 0 s; expected": {"sample_period": 0.0},
    "got shape (0, 2)": {"q0": np.zeros((0, 2))},
    "must have the joints of 'pa10'": {
        "robot": md.load_robot("pa10"),
        "effort": PLAN,
        "q0": 0,
        "v0": 0,
    },
    "mass_scale must be at least 0, got -1": {"mass_scale": -1.0},
    "robot must be a Robot": {"robot": "rr"},
}


@pytest.mark.parametrize("sentence", BAD)
def test_bad_input_is_one_sentence(sentence):
    given = {"robot": ROBOT, "q0": Q0, "v0": V0, "effort": TAU, "duration": 0.1} | BAD[sentence]
    with pytest.raises(md.ManipDynError) as error:
        md.simulate_many(**given)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_start_outside_its_limits_is_named():
    arm = md.load_robot("ibm7535")
    q0 = np.zeros((3, arm.n))
    q0[1, 0] = 100.0
    with pytest.raises(md.ManipDynError, match="initial position of motion 1, of joint"):
        md.simulate_many(arm, q0, np.zeros(arm.n), np.zeros(arm.n), 0.1)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"compensation": "friction"}, "compensation must be one of none, .* got 'friction'"),
        ({"stiffness": -1.0}, "stiffness must be numbers, 0 or more, got -1"),
        ({"damping": [1.0, np.nan]}, "damping must be numbers, 0 or more, got nan"),
        ({"damping": "high"}, "damping must be numbers, 0 or more, got 'high'"),
        ({"target": [0.0, np.nan]}, "target must be finite positions, .* got nan"),
        ({"target": "home"}, r"target must be positions \(n,\) or \(N, n\), a plan"),
        ({"target": []}, "target must be finite positions, .* got none"),
        ({"target": [PLAN, 0.0]}, "target must be positions .* or a list of plans"),
    ],
)
def test_a_control_that_there_is_not_is_refused(wrong, said):
    with pytest.raises(md.ManipDynError, match=said):
        md.PDControl(**({"target": 0.0, "stiffness": 1.0, "damping": 1.0} | wrong))


def attribute(t, q, v):
    return q.nothing


def opened(t, q, v):
    with open("file") as file:
        return file


def failing(t, q, v):
    return np.array([q[0], q[9]])


@pytest.mark.parametrize(
    ("law", "said"),
    [
        (attribute, "cannot be compiled by numba: Unknown attribute 'nothing' of type array"),
        (opened, "cannot be compiled by numba: The 'with (context manager) as (variable):' con"),
        (failing, "fails: IndexError: index 9 is out of bounds for axis 0 with size 2"),
    ],
)
def test_a_law_that_cannot_be_used_is_told_with_its_line(law, said):
    line = law.__code__.co_firstlineno + 1
    with pytest.raises(md.ManipDynError) as error:
        many(law)
    assert f"the effort law {said}" in str(error.value)
    assert f"('{law.__name__}', line {line - (law is opened)} of {__file__})" in str(error.value)
    assert any(word in str(error.value) for word in ("; expected ", "Use "))
    assert "\n" not in str(error.value)
    with pytest.raises(md.ManipDynError, match=f"the effort law .*'{law.__name__}', line {line}"):
        one(0, law)


def test_what_is_many_is_told_where_one_is_simulated():
    for law, named, said in (
        (md.PDControl(Q0, 1.0, 1.0), {}, "target must have one row for a single motion, got 11"),
        (md.PDControl(0.0, GAINS, 1.0), {}, "stiffness must have one row .* got 11"),
        (
            md.PDControl([PLAN, PLAN], 1.0, 1.0),
            {},
            "must be one plan for a single motion, got 2",
        ),
        (lambda t, q, v, p: q, {}, r"must be a function of \(t, q, v\), got"),
        (lambda t, q, v: q, {"parameters": [1.0]}, r"must be a function of \(t, q, v, p\), got"),
        (lambda t, q, v, p: q, {"parameters": 1.0}, "parameters must be numbers .* got 1.0"),
        (TAU[0], {"parameters": [1.0]}, "parameters must be None unless effort is a function"),
    ):
        with pytest.raises(md.ManipDynError, match=said):
            one(0, law, **named)


def test_ensembles_have_the_step_limits_of_simulate():
    named = {"method": "rkdp54", "rtol": 1e-3, "sample_period": DURATION}
    named["control"] = md.StepControl(max_step=0.02, facmax=2.0)
    ensemble = many(**named)
    for i in (0, 5):
        same(ensemble.trajectory(i), one(i, TAU[i], **named), rounding=1e-11)
    assert ensemble.statistics.steps[0] >= DURATION / 0.021
    with pytest.raises(md.ManipDynError, match="default controller, norm and estimate"):
        many(method="rkdp54", rtol=1e-3, control=md.StepControl("paper"))
