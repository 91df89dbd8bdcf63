"""Ensembles: each motion equals that of `md.simulate`, independent of the other motions."""

import dataclasses
import json
import threading
from pathlib import Path

import numpy as np
import pytest
from fresh import output_of

import manip_dyn as md
from manip_dyn.ensembles import batch_simulation, run_lanes

N, DURATION, PERIOD = 11, 0.2, 0.05
"""More motions than lanes, so lanes run several motions."""
ROBOT = md.load_robot("rr")
DRAW = np.random.default_rng(0)
Q0, V0, TAU = (DRAW.uniform(-0.5, 0.5, (N, ROBOT.n)) for _ in range(3))
GAINS = DRAW.uniform(1.0, 3.0, (N, ROBOT.n))
SCHEDULES = [
    md.Schedule(ROBOT, [0, 30_000_000 + 1_000_003 * i, 90_000_000], [tau, -tau, 0.0 * tau])
    for i, tau in enumerate(TAU)
]
ROW = np.arange(N)[:, None]
NAMES = ("t", "q", "v", "tau", "energy")
KERNELS = md.customize(ROBOT)


class InPython:
    """Effort law that runs in Python."""

    def __init__(self, law):
        self.law = law

    def __call__(self, t, q, v):
        return self.law(t, q, v)


def many(effort=TAU, **options):
    return md.simulate_many(ROBOT, Q0, V0, effort, DURATION, **{"sample_period": PERIOD} | options)


def one(i, effort, **options):
    return md.simulate(
        ROBOT, Q0[i], V0[i], effort, DURATION, **{"sample_period": PERIOD} | options
    )


def assert_equal_motions(motion, alone, rounding=1e-13):
    """Assert that a motion equals that of `simulate`: same steps, and samples to rounding."""
    assert motion.status is alone.status
    assert motion.statistics == alone.statistics
    for name in NAMES:
        samples, expected = getattr(motion, name), getattr(alone, name)
        np.testing.assert_allclose(
            samples, expected, rtol=0.0, atol=rounding * max(1.0, np.abs(expected).max())
        )


@pytest.mark.parametrize("method", ["rk4", "rkdp54", "euler_trapezoidal"])
def test_motions_equal_those_of_simulate(method):
    # Methods with FSAL reuse the last stage at samples, where `simulate` evaluates it again.
    options = {"method": method, "sample_period": DURATION if method == "rkdp54" else PERIOD}
    ensemble = many(**options)
    assert ensemble.success.all()
    for i in (0, 5, N - 1):
        assert_equal_motions(ensemble.trajectory(i), one(i, TAU[i], **options))


def test_schedules_switch_at_their_times():
    ensemble = many(SCHEDULES)
    for i in (0, 7, N - 1):
        assert_equal_motions(ensemble.trajectory(i), one(i, SCHEDULES[i]))


@pytest.mark.parametrize("method", ["rkdp54", "rkdp87"])
def test_motions_have_separate_adaptive_steps(method):
    options = {"method": method, "rtol": 1e-9, "atol": 1e-9, "sample_period": DURATION}
    starts = V0 * np.linspace(0.1, 20.0, N)[:, None]
    ensemble = md.simulate_many(ROBOT, Q0, starts, TAU, DURATION, **options)
    assert len(set(ensemble.steps)) > 2
    for i in (0, 5, N - 1):
        alone = md.simulate(ROBOT, Q0[i], starts[i], TAU[i], DURATION, **options)
        assert_equal_motions(ensemble.trajectory(i), alone, rounding=1e-11)


TIGHT = {"method": "taylor", "rtol": 1e-10, "atol": 1e-10}


@pytest.mark.parametrize("tolerances", [(1e-9, 1e-9), (1e-6, 1e-12), (1e-17, 0.0)])
def test_taylor_series_equal_those_of_simulate(tolerances):
    """Include orders that differ between motions, and one above the unrolled orders."""
    options = {"method": "taylor", "rtol": tolerances[0], "atol": tolerances[1]}
    starts = V0 * np.linspace(0.1, 20.0, N)[:, None]
    ensemble = md.simulate_many(ROBOT, Q0, starts, TAU, 0.6, sample_period=0.25, **options)
    assert len(set(ensemble.steps)) > 2
    for i in (0, 5, N - 1):
        alone = md.simulate(ROBOT, Q0[i], starts[i], TAU[i], 0.6, sample_period=0.25, **options)
        assert_equal_motions(ensemble.trajectory(i), alone, rounding=1e-12)


def test_taylor_series_with_fixed_steps_follow_schedules():
    options = {"method": "taylor", "order": 7, "step": 0.03}
    ensemble = many(SCHEDULES, **options)
    for i in (0, 7, N - 1):
        assert_equal_motions(ensemble.trajectory(i), one(i, SCHEDULES[i], **options))
    np.testing.assert_array_equal(ensemble.over_time.tau_peak, np.abs(TAU))


@pytest.mark.parametrize(
    "bodies", [{}, {"mass_scale": 1.2 - 0.02 * ROW, "payload": [1.0] + [0.1] * 6 + [0.0] * 3}]
)
def test_taylor_series_and_runge_kutta_agree(bodies):
    """Include inertial parameters that differ between motions."""
    series, stages = many(**TIGHT, **bodies), many(**TIGHT | {"method": "rkdp87"}, **bodies)
    np.testing.assert_allclose(series.q, stages.q, rtol=0.0, atol=1e-9)
    np.testing.assert_allclose(series.energy, stages.energy, rtol=0.0, atol=1e-7)


def test_a_failed_taylor_series_does_not_affect_other_motions():
    wild = V0.copy()
    wild[3] = 1e200
    ensemble = md.simulate_many(ROBOT, Q0, wild, TAU, DURATION, sample_period=PERIOD, **TIGHT)
    calm, good = many(**TIGHT), np.arange(N) != 3
    np.testing.assert_array_equal(ensemble.q[good], calm.q[good])
    assert ensemble.status[3] == md.Status.NON_FINITE
    assert ensemble.success.sum() == N - 1


@pytest.mark.parametrize("compensation", ["none", "gravity", "computed_torque"])
def test_feedback_gains_may_differ_between_motions(compensation):
    ensemble = many(md.PDControl(Q0 + 0.1, GAINS, 0.3, compensation), step=2e-3)
    inverse, still = KERNELS.unchecked.inverse_dynamics, np.zeros(ROBOT.n)

    def law(_t, q, v):
        error = GAINS[0] * (Q0[0] + 0.1 - q) - 0.3 * v
        if compensation == "computed_torque":
            return inverse(q, v, error)
        return error + (inverse(q, still, still) if compensation == "gravity" else still)

    assert_equal_motions(ensemble.trajectory(0), one(0, InPython(law), step=2e-3))
    alone = md.PDControl(Q0[N - 1] + 0.1, GAINS[N - 1], 0.3, compensation)
    assert_equal_motions(ensemble.trajectory(N - 1), one(N - 1, alone, step=2e-3))


class Cubic:
    """Motion from Q0[0] to Q0[1] with positions cubic in time, like the references."""

    knots = np.array([0.0, DURATION])

    def state(self, t):
        s, displacement = t / DURATION, Q0[1] - Q0[0]
        speed = 6.0 * s * (1.0 - s) / DURATION * displacement
        return Q0[0] + s * s * (3.0 - 2.0 * s) * displacement, speed

    def effort(self, t):
        a = (6.0 - 12.0 * t / DURATION) / DURATION**2 * (Q0[1] - Q0[0])
        return KERNELS.inverse_dynamics(*self.state(t), a)

    def samples(self, period):
        return [(t, self.effort(t)) for t in np.arange(0.0, DURATION - 1e-9, period)]


PLAN = md.Plan(
    *(ROBOT, Q0[0], Q0[1], DURATION, [[], []], [DURATION] * 2, Cubic()),
    *(np.zeros(ROBOT.n), "cubic", "solved", "test"),
)


def test_computed_torque_tracks_a_plan_exactly():
    control = md.PDControl(PLAN, 25.0, 10.0, "computed_torque")
    strong = dataclasses.replace(ROBOT, tau_max=np.full(ROBOT.n, np.inf))
    ensemble = md.simulate_many(strong, Q0[0], 0.0, control, DURATION, 1e-3, 0.04)
    for t, q, v in zip(ensemble.t, ensemble.q[0], ensemble.v[0], strict=True):
        np.testing.assert_allclose([q, v], PLAN.state(t), rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("compensation", ["none", "gravity", "computed_torque"])
def test_simulate_tracks_plans_like_ensembles(compensation):
    """Agree to rounding, except for computed torque: the acceleration jumps between samples."""
    control, start = md.PDControl(PLAN, 25.0, 10.0, compensation), Q0[0] + 0.01
    ensemble = md.simulate_many(ROBOT, start, 0.0, control, 1.5 * DURATION, 1e-3, PERIOD)
    control = dataclasses.replace(control, target=[PLAN])
    alone = md.simulate(ROBOT, start, np.zeros(2), control, 1.5 * DURATION, 1e-3, PERIOD)
    assert_equal_motions(
        ensemble.trajectory(0),
        alone,
        rounding=1e-8 if compensation == "computed_torque" else 1e-12,
    )


def test_plans_are_played_back_as_efforts():
    ensemble = md.simulate_many(ROBOT, Q0[:1], 0.0, [PLAN, PLAN], DURATION, 1e-3, 0.05)
    times, efforts = zip(*PLAN.samples(1e-3), strict=True)
    schedule = md.Schedule(ROBOT, [round(1e9 * t) for t in times], efforts)
    assert len(ensemble) == 2
    for law in (schedule, PLAN):
        alone = md.simulate(ROBOT, Q0[0], np.zeros(2), law, DURATION, 1e-3, 0.05)
        assert_equal_motions(ensemble.trajectory(1), alone)


def oscillating(t, q, v, p):
    """Return efforts of a law that raises after p[2] s and returns NaN after p[3] s."""
    if t > p[2]:
        raise ValueError("no more")
    return p[0] * np.sin(9.0 * t) - p[1] * v + 0.0 * np.sqrt(p[3] - t)


def test_effort_functions_accept_parameters():
    values = np.hstack([DRAW.uniform(0.5, 1.0, (N, 2)), np.ones((N, 2))])
    ensemble = many(oscillating, parameters=values, step=2e-3)
    first, second = values[0, :2]
    alone = InPython(lambda t, _q, v: first * np.sin(9.0 * t) - second * v)
    assert_equal_motions(ensemble.trajectory(0), one(0, alone, step=2e-3))
    assert_equal_motions(
        ensemble.trajectory(N - 1), one(N - 1, oscillating, step=2e-3, parameters=values[N - 1])
    )


def test_one_number_per_motion_applies_to_all_joints():
    column = 0.5 * np.ones((N, 1))
    wide, narrow = (many(md.PDControl(x, 1.0, x), mass_scale=x) for x in (column + 0 * Q0, column))
    np.testing.assert_array_equal(wide.q, narrow.q)


def test_time_loop_is_compiled_once_for_all_arguments():
    """Regression: each combination of shared and separate rows compiled another loop."""
    for effort in (TAU[0], md.PDControl(Q0[0], 1.0, GAINS), md.PDControl(Q0, GAINS[0], 1.0)):
        assert many(effort).success.all()
    assert len(run_lanes.overloads) == 1


def test_gravity_compensation_equals_that_of_simulate():
    ensemble = many(md.gravity_compensation(ROBOT))
    assert_equal_motions(ensemble.trajectory(3), one(3, md.gravity_compensation(KERNELS)))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"effort": md.PDControl(np.zeros(2), 100.0, 20.0, "computed_torque")},
        {"mass_scale": np.linspace(0.8, 1.2, N)[:, None], "damping": GAINS},
        {"method": "rkdp54", "rtol": 1e-12, "atol": 1e-6},
    ],
    ids=["efforts", "computed torque", "parameters", "tolerances"],
)
def test_errors_in_single_precision_are_those_of_the_dynamics(options):
    exact, single = many(**options), many(**options, dtype=np.float32)
    assert single.success.all()
    assert single.q.dtype == np.float64
    for name in ("q", "v", "tau"):
        samples, expected = getattr(single, name), getattr(exact, name)
        assert np.abs(samples - expected).max() <= 5e-6 * np.abs(expected).max()
    assert np.any(single.q_end != exact.q_end), "the dynamics are those of float64"
    again = many(**options, dtype="float32", threads=2)
    np.testing.assert_array_equal(again.q, single.q)


def test_damping_and_mass_scale_equal_those_of_a_modified_robot():
    scale, damping = DRAW.uniform(0.8, 1.2, (N, ROBOT.n)), DRAW.uniform(0.0, 1.0, (N, ROBOT.n))
    scale[0], damping[0] = 1.0, ROBOT.damping  # unmodified
    ensemble = many(mass_scale=scale, damping=damping)
    assert_equal_motions(ensemble.trajectory(0), one(0, TAU[0]))
    bodies = [
        dataclasses.replace(body, mass=s * body.mass, inertia=s * body.inertia)
        if dataclasses.is_dataclass(body)
        else body._replace(mass=s * body.mass, inertia=s * body.inertia)
        for body, s in zip(ROBOT.bodies, scale[-1], strict=True)
    ]
    modified = dataclasses.replace(ROBOT, bodies=tuple(bodies), damping=damping[-1])
    alone = md.simulate(modified, Q0[-1], V0[-1], TAU[-1], DURATION, sample_period=PERIOD)
    assert_equal_motions(ensemble.trajectory(N - 1), alone)


def test_payloads_agree_with_the_kernels():
    payload = np.array([2.0, 0.05, 0.02, 0.1, 0.02, 0.02, 0.03, 0.001, 0.002, 0.003])
    payloads = payload * np.linspace(0.0, 1.0, N)[:, None]
    payloads[:, 1:4] = payload[1:4]
    h = 1e-6
    ensemble = md.simulate_many(ROBOT, Q0, V0, TAU, 2.0 * h, h, h, payload=payloads)
    for i in range(N):
        state = ensemble.q[i, 1], ensemble.v[i, 1], TAU[i]
        expected = KERNELS.forward_dynamics(*state, payload=payloads[i])
        slope = (ensemble.v[i, 2] - ensemble.v[i, 0]) / (2.0 * h)
        np.testing.assert_allclose(slope, expected, rtol=1e-7, atol=1e-7)
    assert np.abs(ensemble.energy_end[:, 3]).max() < 1e-12


# --------------------------------------------------------------------- failures
def test_a_failed_motion_does_not_affect_other_motions():
    wild = V0.copy()
    wild[3], wild[5] = 1e200, 1e6
    good = [i for i in range(N) if i not in (3, 5)]
    ensemble = md.simulate_many(ROBOT, Q0, wild, TAU, DURATION, sample_period=PERIOD)
    calm = many()
    assert list(np.flatnonzero(~ensemble.success)) == [3, 5]
    for name in NAMES[1:]:
        np.testing.assert_array_equal(getattr(ensemble, name)[good], getattr(calm, name)[good])
    assert ensemble.status[3] == md.Status.NON_FINITE
    assert "diverged at 0.000000 s" in ensemble.reason[3]
    assert ensemble.reason[0] == "the whole duration was simulated"
    assert np.isfinite(ensemble.q_end).all()
    assert np.isnan(ensemble.q[3, 1:]).all()
    alone = md.simulate(ROBOT, Q0[5], wild[5], TAU[5], DURATION, sample_period=PERIOD)
    assert ensemble.trajectory(5).reason.endswith(alone.reason.split("diverged")[1])
    assert ensemble.steps[5] == alone.statistics.steps


def test_time_loop_is_compiled_before_threads_start(monkeypatch):
    """Regression: Ctrl-C waited for the threads, each of which compiled."""
    calls = []

    def recorded(*arguments):
        in_main_thread = threading.current_thread() is threading.main_thread()
        calls.append((in_main_thread, *arguments[-2:]))
        return run_lanes(*arguments)

    monkeypatch.setattr(batch_simulation, "run_lanes", recorded)
    many(threads=2)
    in_main, first, last = calls[0]
    assert in_main
    assert first == last
    assert len(calls) > 2
    assert not any(call[0] for call in calls[1:])


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_motions_are_independent_of_the_other_motions_and_threads(threads):
    ensemble = many(threads=threads)
    few = md.simulate_many(
        ROBOT, Q0[4:6], V0[4:6], TAU[4:6], DURATION, sample_period=PERIOD, threads=1
    )
    np.testing.assert_array_equal(ensemble.q[4:6], few.q)
    np.testing.assert_array_equal(ensemble.energy[4:6], few.energy)
    for name, value in vars(few.over_time).items():
        np.testing.assert_array_equal(getattr(ensemble.over_time, name)[4:6], value)


@pytest.mark.parametrize(
    ("options", "tolerance"), [({}, 1e-11), (TIGHT, 1e-9)], ids=["rk4", "taylor"]
)
def test_joint_limits_end_motions(options, tolerance):
    """Compare with `simulate` by rk4, whose errors are below 1e-10."""
    arm = dataclasses.replace(ROBOT, q_min=np.full(ROBOT.n, -0.6), q_max=np.full(ROBOT.n, 0.6))
    fast = 10.0 * V0
    options = {"sample_period": DURATION, "stop_at_limits": True}
    ensemble = md.simulate_many(arm, Q0, fast, TAU, DURATION, **options | options)
    assert 0 < ensemble.success.sum() < N
    for i in range(N):
        alone = md.simulate(arm, Q0[i], fast[i], TAU[i], DURATION, **options)
        assert ensemble.reason[i] == alone.reason
        np.testing.assert_allclose(ensemble.q_end[i], alone.q[-1], atol=tolerance)
        np.testing.assert_allclose(ensemble.t_end[i], alone.t[-1], atol=1e-9)
    if options:
        (first, *_) = np.flatnonzero(~ensemble.success)
        alone = md.simulate(arm, Q0[first], fast[first], TAU[first], DURATION, **options | options)
        assert ensemble.reason[first] == alone.reason
        np.testing.assert_allclose(ensemble.q_end[first], alone.q[-1], atol=1e-11)


def test_a_law_that_returns_nan_ends_its_motion_like_simulate():
    """The law returns NaN at the start, later, or never."""
    values = np.array([[0.1, 1.0, 9.0, end + 1e-6] for end in (-1.0, 0.05, 1.0)])
    ensemble = md.simulate_many(ROBOT, Q0[:3], V0[:3], oscillating, 0.1, 0.01, parameters=values)
    names = ["NON_FINITE", "NON_FINITE", "SUCCESS"]
    assert [md.Status(status).name for status in ensemble.status] == names
    assert "diverged at 0.050000 s (numbers became infinite or NaN)" in ensemble.reason[1]
    for i, name in enumerate(names):
        options = {"step": 0.01, "sample_period": 0.1, "parameters": values[i]}
        alone = md.simulate(ROBOT, Q0[i], V0[i], oscillating, 0.1, **options)
        assert alone.status.name == name
        assert alone.reason.split("diverged")[-1] == ensemble.reason[i].split("diverged")[-1]


@pytest.mark.parametrize("at", [0.035, -1.0])
def test_a_law_that_raises_ends_its_motion(at):
    """The motion ends at the last valid step; `simulate` reports the exception and its line."""
    parameters = [0.0, 1.0, at, 1.0]
    ensemble = md.simulate_many(
        ROBOT, Q0[:1], V0[:1], oscillating, 0.1, 0.01, parameters=parameters
    )
    alone = md.simulate(ROBOT, Q0[0], V0[0], oscillating, 0.1, 0.01, parameters=parameters)
    assert alone.status.name == md.Status(ensemble.status[0]).name == "NON_FINITE"
    assert (
        ensemble.t_end[0] == pytest.approx(alone.t[-1]) == pytest.approx(0.03 if at > 0 else 0.0)
    )
    np.testing.assert_allclose(ensemble.q_end[0], alone.q[-1], atol=1e-13)
    assert "an effort law that neither raises nor returns NaN" in ensemble.reason[0]
    line = oscillating.__code__.co_firstlineno + 3
    assert f"ValueError: no more ('oscillating', line {line} of {__file__})" in alone.reason


class Raising:
    """Effort law that runs in Python and raises."""

    def __call__(self, t, q, v):
        if t > 0.035:
            raise ValueError("no more")
        return -v


def test_a_python_law_that_raises_ends_its_motion():
    alone = md.simulate(ROBOT, Q0[0], V0[0], Raising(), 0.1, 0.01)
    assert alone.status.name == "NON_FINITE"
    assert alone.t[-1] == pytest.approx(0.03)
    assert "ValueError: no more ('__call__', line" in alone.reason
    with pytest.raises(md.ManipDynError, match=r"a Raising, which runs in Python\. Use a func"):
        one(0, Raising(), method="rkdp54", rtol=1e-6)
    with pytest.raises(md.ManipDynError, match="NameError: name 'nothing' is not defined"):
        one(0, lambda t, q, v: nothing)  # noqa: F821


LAMBDAS = (
    lambda t, q, v: np.array([1.0 / (t - t), 0.0]),
    lambda t, q, v: np.array([-0.3, 0.0]) + 0.0 * v,
    lambda t, q, v: np.array([0.3, 0.0]) + 0.0 * v,
)


def test_functions_with_the_same_name_are_distinguished():
    """Regression: all lambdas of a file were compiled as the first one."""
    for law, end in zip(LAMBDAS, (ROBOT.tau_max[0], -0.3, 0.3), strict=True):
        ensemble = md.simulate_many(ROBOT, Q0[:1], V0[:1], law, 0.02, 0.01)
        np.testing.assert_array_equal(ensemble.tau_end, [[end, 0.0]])


MAPS = Path("/proc/self/maps")
GAIN = -0.3


def constant_law(t, q, v):
    return np.array([GAIN, 0.0]) + 0.0 * v


def test_a_function_is_compiled_again_if_its_values_change(monkeypatch):
    for gain in (-0.3, 0.4, -0.3):
        monkeypatch.setitem(globals(), "GAIN", gain)
        ensemble = md.simulate_many(ROBOT, Q0[:1], V0[:1], constant_law, 0.02, 0.01)
        np.testing.assert_array_equal(ensemble.tau_end, [[gain, 0.0]])


@pytest.mark.skipif(not MAPS.exists(), reason="no list of memory maps")
def test_a_function_is_compiled_once():
    """Regression: each call compiled the law into two new memory maps, which were never freed."""

    def maps():
        md.simulate_many(ROBOT, Q0[:1], V0[:1], constant_law, 0.02, 0.01)
        return len(MAPS.read_text().splitlines())

    counts = [maps() for _ in range(20)]
    assert counts[-1] - counts[1] < len(counts)


def test_infinite_efforts_are_saturated():
    """Division by zero follows NumPy, compiled or not, and the effort is the limit."""
    law = LAMBDAS[0]
    ends = md.simulate_many(ROBOT, Q0[:1], V0[:1], law, 0.02, 0.01)
    for effort in (law, InPython(law)):
        alone = md.simulate(ROBOT, Q0[0], V0[0], effort, 0.02, 0.01)
        assert alone.success
        assert alone.tau[-1, 0] == ends.tau_end[0, 0] == ROBOT.tau_max[0]
        assert alone.saturated.all(axis=0).tolist() == ends.saturated[0].tolist() == [True, False]


def test_results_report_saturated_joints():
    """Efforts above the limit are saturated; efforts equal to the limit are not."""
    limit, requested = ROBOT.tau_max, np.zeros((3, ROBOT.n))
    requested[0, 0], requested[1] = 2.0 * limit[0], limit
    ensemble = md.simulate_many(ROBOT, Q0[:3], V0[:3], requested, 0.02, 0.01)
    assert ensemble.saturated.tolist() == [[True, False], [False, False], [False, False]]
    later = md.Schedule(ROBOT, [0, 10_000_000], [0.0 * limit, 2.0 * limit])
    both = md.simulate_many(ROBOT, Q0[:2], V0[:2], [later, later], 0.02, 0.01, 0.01)
    alone = md.simulate(ROBOT, Q0[0], V0[0], requested[0], 0.02, 0.01)
    for motion in (ensemble.trajectory(0), alone):
        assert motion.saturated.all(axis=0).tolist() == [True, False]
    for motion in (both.trajectory(1), md.simulate(ROBOT, Q0[0], V0[0], later, 0.02, 0.01)):
        assert motion.saturated.tolist() == [[False] * 2, [True] * 2, [True] * 2]
    stiff = md.PDControl(Q0[0] + 1.0, 1e6, 0.0)
    assert md.simulate_many(ROBOT, Q0[:1], V0[:1], stiff, 0.02, 0.01).saturated.all()
    assert one(0, stiff, step=0.01).saturated[0].all()


def test_limits_in_the_first_step_are_detected():
    """The search must end although floats near time zero are arbitrarily close."""
    arm = dataclasses.replace(ROBOT, q_min=np.full(ROBOT.n, -0.6), q_max=np.full(ROBOT.n, 0.6))
    start = [0.6 - 1e-5, 0.0], [1.0, 0.0], 0.0, 0.01
    ensemble = md.simulate_many(arm, *start, stop_at_limits=True)
    assert ensemble.t_end[0] == pytest.approx(1e-5, rel=1e-3)
    assert ensemble.status[0] == md.Status.EVENT


AS_PYTHON = """
import manip_dyn as md
robot = md.load_robot("rr")
options = {"method": "taylor", "rtol": 1e-9, "mass_scale": 1.1}
ensemble = md.simulate_many(robot, [[0.1, 0.2], [0.3, -0.4]], 1.0, 0.5, 0.3, **options)
print(ensemble.q_end.tolist())
"""


def test_taylor_series_run_without_the_compiler():
    plain, compiled = (
        np.array(json.loads(output_of(AS_PYTHON, NUMBA_DISABLE_JIT=off).splitlines()[-1]))
        for off in ("1", "0")
    )
    np.testing.assert_allclose(plain, compiled, rtol=0.0, atol=1e-13)


# --------------------------------------------------------------------- results
def test_statistics_cover_every_step():
    ensemble, dense = many(), many(sample_period=1e-3)
    statistics = ensemble.over_time
    np.testing.assert_allclose(statistics.q_min, dense.q.min(axis=1), atol=1e-14)
    np.testing.assert_allclose(statistics.v_max, dense.v.max(axis=1), atol=1e-14)
    mean = (dense.v[:, 1:] + dense.v[:, :-1]).mean(axis=1) / 2.0
    np.testing.assert_allclose(statistics.v_mean, mean, atol=1e-13)
    np.testing.assert_array_equal(statistics.tau_peak, np.abs(TAU))
    np.testing.assert_allclose(ensemble.q_end, dense.q[:, -1], atol=1e-13)
    np.testing.assert_array_equal(ensemble.energy_end, ensemble.energy[:, -1])


def test_repr_counts_motions_by_status():
    ensemble = many()
    assert repr(ensemble) == f"Ensemble({N} motions of 'rr': {N} SUCCESS)"
    assert len(ensemble) == N
    assert ensemble.q.shape == (N, len(ensemble.t), ROBOT.n)


def test_xarray_data_set_has_options_axes():
    pytest.importorskip("xarray")
    data_set = many().to_xarray()
    assert data_set["q"].dims == ("motion", "time", "joint")
    assert data_set["energy"].sel(part="kinetic").shape == (N, 5)


def beyond_parameters(t, q, v, p):
    return p[5] * q


INVALID = {
    "v0 must have one row, or 11 rows like q0, got 3": {"v0": V0[:3]},
    "q0 must be a number, (2,), or (N, 1) or (N, 2) for N >= 1 motions, got shape (11, 3)": {
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
        "effort": oscillating,
    },
    "index 5 is out of bounds for axis 0 with size 3": {
        "parameters": np.ones((N, 3)),
        "effort": beyond_parameters,
    },
    "Use q and v of 2 numbers, p of 3": {
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
    "threads must be a whole number, 1 or more, got 0": {"threads": 0},
    "rtol must be 0, or 1e-20 or more, got 1e-30": {"rtol": 1e-30, "method": "rkdp54"},
    "duration must be at most 4.61169e+09 s, got 1e+30 s": {"duration": 1e30},
    "stop_at_limits must be true or false, got 'no'": {"stop_at_limits": "no"},
    "method must be one of md.METHODS, got ['rk4']": {"method": ["rk4"]},
    "for method 'taylor' without tolerances, got None": {"method": "taylor"},
    "effort must not depend on the state": {"effort": md.PDControl(Q0, 1, 1)} | TIGHT,
    "damping must be None with method 'taylor'": {"damping": 1.0} | TIGHT,
    "dtype must be np.float64 with method 'taylor'": {"dtype": np.float32} | TIGHT,
    "dtype must be np.float64 or np.float32, got 'half'": {"dtype": "half"},
    "rtol must be 1e-06 or more with dtype np.float32, got 1e-07": {
        "method": "rkdp87",
        "rtol": 1e-7,
        "dtype": "float32",
    },
    "atol must be 1e-06 or more with dtype np.float32, got 1e-12": {
        "method": "rkdp87",
        "rtol": 1e-6,
        "atol": 1e-12,
        "dtype": np.float32,
    },
    "sample_period must be above 0, got 0 s": {"sample_period": 0.0},
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


@pytest.mark.parametrize("message", INVALID)
def test_invalid_arguments_raise_in_one_line(message):
    arguments = {"robot": ROBOT, "q0": Q0, "v0": V0, "effort": TAU, "duration": 0.1} | INVALID[
        message
    ]
    with pytest.raises(md.ManipDynError) as error:
        md.simulate_many(**arguments)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_initial_positions_outside_the_limits_raise():
    arm = md.load_robot("ibm7535")
    q0 = np.zeros((3, arm.n))
    q0[1, 0] = 100.0
    with pytest.raises(md.ManipDynError, match="initial position of motion 1, of joint"):
        md.simulate_many(arm, q0, np.zeros(arm.n), np.zeros(arm.n), 0.1)


@pytest.mark.parametrize(
    ("options", "message"),
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
def test_invalid_pd_controls_raise(options, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.PDControl(**({"target": 0.0, "stiffness": 1.0, "damping": 1.0} | options))


def attribute(t, q, v):
    return q.nothing


def opened(t, q, v):
    with open("file") as file:
        return file


def failing(t, q, v):
    return np.array([q[0], q[9]])


@pytest.mark.parametrize(
    ("law", "message"),
    [
        (attribute, "cannot be compiled by numba: Unknown attribute 'nothing' of type array"),
        (opened, "cannot be compiled by numba: The 'with (context manager) as (variable):' con"),
        (failing, "fails: IndexError: index 9 is out of bounds for axis 0 with size 2"),
    ],
)
def test_invalid_laws_are_reported_with_their_line(law, message):
    line = law.__code__.co_firstlineno + 1
    with pytest.raises(md.ManipDynError) as error:
        many(law)
    assert f"the effort law {message}" in str(error.value)
    assert f"('{law.__name__}', line {line - (law is opened)} of {__file__})" in str(error.value)
    assert any(word in str(error.value) for word in ("Use ",))
    assert "\n" not in str(error.value)
    with pytest.raises(md.ManipDynError, match=f"the effort law .*'{law.__name__}', line {line}"):
        one(0, law)


def test_simulate_rejects_arguments_of_several_motions():
    for law, options, message in (
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
        with pytest.raises(md.ManipDynError, match=message):
            one(0, law, **options)


def test_ensembles_have_the_step_limits_of_simulate():
    options = {"method": "rkdp54", "rtol": 1e-3, "sample_period": DURATION}
    options["control"] = md.StepControl(max_step=0.02, facmax=2.0)
    ensemble = many(**options)
    for i in (0, 5):
        assert_equal_motions(ensemble.trajectory(i), one(i, TAU[i], **options), rounding=1e-11)
    assert ensemble.statistics.steps[0] >= DURATION / 0.021
    with pytest.raises(md.ManipDynError, match="default controller, norm and estimate"):
        many(method="rkdp54", rtol=1e-3, control=md.StepControl("paper"))


@pytest.mark.parametrize(
    "limits", [{"max_step": 0.02}, {"max_steps": 3}, {"min_step": 10.0 * DURATION}]
)
def test_taylor_series_of_ensembles_have_the_step_limits_of_simulate(limits):
    options = {"method": "taylor", "rtol": 1e-9, "sample_period": DURATION}
    options["control"] = md.StepControl(**limits)
    ensemble = many(**options)
    for i in (0, 5):
        motion = one(i, TAU[i], **options)
        assert ensemble.status[i] == motion.status
        assert ensemble.steps[i] == motion.statistics.steps


def test_samples_are_stored_in_a_new_folder(tmp_path):
    robot = md.load_robot("rr")
    q0 = np.random.default_rng(3).uniform(-0.5, 0.5, (20, robot.n))
    arguments = robot, q0, np.zeros(robot.n), np.zeros(robot.n), 0.1
    folder = tmp_path / "new" / "samples"
    usual = md.simulate_many(*arguments, sample_period=0.01)
    stored = md.simulate_many(*arguments, sample_period=0.01, folder=folder)
    for name in ("q", "v", "tau", "energy", "q_end"):
        np.testing.assert_array_equal(getattr(stored, name), getattr(usual, name))
    states = np.load(folder / "states.npy", mmap_mode="r")
    np.testing.assert_array_equal(states[:, :, : robot.n], usual.q)
    np.testing.assert_array_equal(states[:, :, -1], usual.energy[:, :, 2])
    np.testing.assert_array_equal(np.load(folder / "energy.npy"), usual.energy)
    np.testing.assert_array_equal(np.load(folder / "tau.npy"), usual.tau)
    with pytest.raises(md.ManipDynError, match="folder must be new or empty"):
        md.simulate_many(*arguments, folder=folder)
    np.testing.assert_array_equal(np.load(folder / "tau.npy"), usual.tau)
    (tmp_path / "file").write_text("")
    with pytest.raises(md.ManipDynError, match="cannot store the samples of"):
        md.simulate_many(*arguments, folder=tmp_path / "file" / "samples")
    with pytest.raises(md.ManipDynError, match="folder must be a path, got 3"):
        md.simulate_many(*arguments, folder=3)
