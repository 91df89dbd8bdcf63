"""Simulation: order of accuracy, energy balance, exact switches and reproducibility."""

import warnings
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
from arms import ARM, changed, load, random_state, random_tree, write, write_shipped
from laws import linear, swing
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn.integration import Statistics, rk4_step
from manip_dyn.simulation import (
    Feedback,
    Integrator,
    PDLaw,
    Simulation,
    gravity_compensation,
    held,
)


def by_scipy(robot, q0, v0, torque, duration):
    """Return the final q and v (2n,) under torque(t, q, v) by DOP853 at 1e-12."""
    kernels, n = md.customize(robot), robot.n

    def rhs(t, y):
        q, v = y[:n], y[n:]
        return np.concatenate([v, kernels.forward_dynamics(q, v, torque(t, q, v))])

    y0 = np.concatenate([q0, v0])
    solution = solve_ivp(rhs, (0, duration), y0, method="DOP853", rtol=1e-12, atol=1e-12)
    return solution.y[:, -1]


def end_of(result):
    return np.concatenate([result.q[-1], result.v[-1]])


def test_rk4_step_integrates_cubics_exactly():
    y = rk4_step(lambda t, _y: np.array([4.0 * t**3, 1.0]), 0.5, np.array([2.0, 0.0]), 0.25)
    np.testing.assert_allclose(y, [2.0 + 0.75**4 - 0.5**4, 0.25], rtol=1e-15)


@pytest.mark.parametrize("name", ["pa10", "ibm7535", "tree1"])
def test_the_default_method_has_order_four(tmp_path, name):
    robot = load(name, tmp_path)
    q, v, _ = random_state(robot, np.random.default_rng(5))
    exact = by_scipy(robot, q, v, swing, 0.4)
    errors = [
        np.abs(end_of(md.simulate(robot, q, v, swing, 0.4, step)) - exact).max()
        for step in (0.01, 0.005, 0.0025)
    ]
    assert np.log2(np.divide(errors[:-1], errors[1:])).min() > 3.7


@pytest.mark.parametrize("name", ["pa10", "tree1"])
def test_the_energy_balance_residual_has_order_four(tmp_path, name):
    """Kinetic + potential energy = work of the efforts and the damping."""
    robot = load(name, tmp_path)
    q, v, _ = random_state(robot, np.random.default_rng(6))
    runs = [md.simulate(robot, q, v, swing, 0.4, step) for step in (0.01, 0.005, 0.0025)]
    residuals = [np.abs(run.energy[:, 3]).max() for run in runs]
    assert np.log2(np.divide(residuals[:-1], residuals[1:])).min() > 3.5
    assert np.abs(runs[0].energy[-1, 2]) > 1e3 * residuals[0]


@pytest.mark.parametrize("name", ["pa10", "ibm7535"])
def test_the_motion_agrees_with_scipy(name):
    robot = md.load_robot(name)
    q, v = np.linspace(0.3, -0.2, robot.n), np.zeros(robot.n)
    result = md.simulate(robot, q, v, swing, 1.0)
    np.testing.assert_allclose(end_of(result), by_scipy(robot, q, v, swing, 1.0), atol=5e-9)


@pytest.mark.parametrize("step", [1e-3, 7e-3, 0.1])
@pytest.mark.parametrize("switch_ns", [333_777_123, 400_000_000, 1])
def test_switches_inside_a_step_are_exact(step, switch_ns):
    """One-link arm with I = 10: acceleration +1 until the switch, then -1."""
    robot = md.load_robot("one_link_horizontal")
    schedule = md.Schedule(robot, [0, switch_ns], [[10.0], [-10.0]])
    result = md.simulate(robot, [0.1], [0.2], schedule, 0.7, step)
    s, rest = switch_ns * 1e-9, 0.7 - switch_ns * 1e-9
    v = 0.2 + s
    q = 0.1 + 0.2 * s + s**2 / 2
    np.testing.assert_allclose(result.q[-1], q + v * rest - rest**2 / 2, atol=1e-12)
    np.testing.assert_allclose(result.v[-1], v - rest, atol=1e-12)


def test_the_order_is_preserved_at_switches_of_a_nonlinear_arm():
    robot = md.load_robot("one_link_vertical")
    schedule = md.Schedule(robot, [0, 123_456_789, 217_000_001], [[8.0], [-8.0], [4.0]])
    y, begin = np.array([0.5, 0.0]), 0.0
    for end, effort in ((0.123456789, 8.0), (0.217000001, -8.0), (0.4, 4.0)):
        y = by_scipy(robot, y[:1], y[1:], lambda *_, e=effort: np.array([e]), end - begin)
        begin = end
    fine, coarse = (
        np.abs(end_of(md.simulate(robot, [0.5], [0.0], schedule, 0.4, step)) - y).max()
        for step in (0.005, 0.01)
    )
    assert fine < 1e-7
    assert np.log2(coarse / fine) > 3.5


def test_a_schedule_extends_its_first_and_last_effort():
    robot = md.load_robot("one_link_horizontal")
    schedule = md.Schedule(robot, [100, 200], [[1.0], [2.0]])
    times = (-5, 99, 100, 199, 200, 10**12)
    efforts = [schedule.effort(t, np.zeros(1), np.zeros(1))[0] for t in times]
    assert efforts == [1.0, 1.0, 1.0, 1.0, 2.0, 2.0]
    assert [schedule.next_switch(t) for t in (0, 100, 199, 200)] == [200, 200, 200, None]


LINK = md.load_robot("one_link_horizontal")


@pytest.mark.parametrize("torque", [[1e6], Feedback(LINK, linear, parameters=[0.0, 0.0, 1e6])])
def test_efforts_saturate_at_the_limit(torque):
    result = md.simulate(LINK, [0.0], [0.0], torque, 1.0)
    assert result.tau.max() == 10.0
    np.testing.assert_allclose(result.v[-1], 1.0, rtol=1e-12)


def test_without_efforts_the_arm_falls():
    arm = md.load_robot("rr")
    fall = md.simulate(arm, [0.3, 0.2], [0.0, 0.0], duration=0.1)
    assert not fall.tau.any()
    same = md.simulate(arm, [0.3, 0.2], [0.0, 0.0], [0.0, 0.0], 0.1)
    np.testing.assert_array_equal(fall.q, same.q)


def test_gravity_compensation_holds_the_arm_at_rest():
    robot = md.load_robot("pa10")
    law = gravity_compensation(md.customize(robot))
    start = np.linspace(0.5, -0.5, 7)
    result = md.simulate(robot, start, np.zeros(7), law, 1.0)
    np.testing.assert_allclose(result.q[-1], start, atol=1e-12)
    assert np.abs(result.tau[0]).max() > 1.0


def test_repeated_simulations_are_bit_identical(tmp_path):
    robot = load("tree1", tmp_path)
    q, v, _ = random_state(robot, np.random.default_rng(7))
    first, second = (md.simulate(robot, q, v, swing, 0.2) for _ in range(2))
    for field in ("t", "q", "v", "tau", "energy"):
        np.testing.assert_array_equal(getattr(first, field), getattr(second, field))


def test_the_motion_is_independent_of_the_intervals_of_advance():
    simulation = Simulation(md.load_robot("pa10"), np.full(7, 0.3), np.full(7, -0.1))
    simulation.advance(50_000_000)
    once = simulation.q
    simulation.reset()
    for _ in range(10):
        simulation.advance(5_000_000)
    np.testing.assert_array_equal(simulation.q, once)


def test_time_is_exact_after_ten_thousand_advances():
    simulation = Simulation(
        md.load_robot("one_link_vertical"), [0.1], [0.0], Integrator(step=1e-3 / 3)
    )
    for _ in range(10_000):
        simulation.advance(333_333)
    assert simulation.time_ns == 10_000 * 333_333


def test_a_divergence_ends_the_simulation_with_the_last_finite_state(tmp_path):
    stiff = changed(ARM, ('damping="0.5"', 'damping="1e6"'))
    robot = md.load_robot(write(tmp_path, stiff))
    result = md.simulate(robot, [0.1, 0.0], [0.5, 0.0], [0.0, 0.0], 10.0, step=0.1)
    assert not result.success
    assert "'arm' diverged at" in result.reason
    assert result.t[-1] < 10.0
    assert len(result.t) == len(result.q) == len(result.energy)
    assert np.all(np.isfinite(result.q))


@pytest.mark.parametrize("options", [{"step": 1e-2}, {"method": "taylor", "rtol": 1e-12}])
def test_a_simulation_may_end_when_a_joint_reaches_its_limit(options):
    """A constant torque on a joint without gravity: q = tau t^2 / (2 J)."""
    robot = md.load_robot("one_link_horizontal")
    torque = 0.5 * robot.tau_max
    acceleration = md.customize(robot).forward_dynamics([0.0], [0.0], torque)[0]
    exact = np.sqrt(2.0 * robot.q_max[0] / acceleration)
    motion = md.simulate(robot, [0.0], [0.0], torque, 2.0 * exact, stop_at_limits=True, **options)
    assert not motion.success
    assert motion.reason.startswith(f"joint '{robot.joint_names[0]}' reached its upper limit")
    assert motion.t[-1] == pytest.approx(exact, abs=2e-9)
    assert motion.q[-1, 0] == pytest.approx(robot.q_max[0], abs=1e-8)
    assert np.all(np.diff(motion.t) > 0.0)
    passing = md.simulate(robot, [0.0], [0.0], torque, 1.5 * exact, **options)
    assert passing.success
    assert passing.q[-1, 0] > robot.q_max[0]


class Controller:
    """A callable object, which only Python can call."""

    def __init__(self):
        self.calls = 0

    def __call__(self, t, q, v):
        self.calls += 1
        return -q - v


def test_a_callable_object_runs_in_python():
    law = Controller()
    interpreted = md.simulate(LINK, [0.1], [0.0], law, 0.01)
    same = Feedback(LINK, linear, parameters=[-1.0, -1.0, 0.0])
    compiled = md.simulate(LINK, [0.1], [0.0], same, 0.01)
    assert law.calls >= 40
    np.testing.assert_allclose(interpreted.q, compiled.q, rtol=1e-12)


def test_adams_methods_do_not_restart_at_every_step():
    robot = md.load_robot("rr")
    motion = md.simulate(robot, [0.1, 0.1], [0.0, 0.0], [0.0, 0.0], 5.0, method="ab4")
    assert len(motion.t) == 101
    assert motion.statistics.evaluations < 1.5 * motion.statistics.steps


@pytest.mark.parametrize(
    ("times", "efforts", "message"),
    [
        (["a"], [[0.0, 0.0]], "whole nanoseconds, got a"),
        ([0, np.nan], [[0.0, 0.0]] * 2, "whole nanoseconds, got nan"),
        (0, [[0.0, 0.0]], "times must be a list, got 0"),
    ],
)
def test_schedules_of_wrong_types_are_rejected(times, efforts, message):
    with pytest.raises(md.ManipDynError, match=message):
        md.Schedule(md.load_robot("rr"), times, efforts)


def test_a_schedule_of_another_robot_is_rejected():
    schedule = md.Schedule(md.load_robot("pa10"), [0], [np.zeros(7)])
    with pytest.raises(md.ManipDynError, match=r"for 'rr' with the joints .* got one for 'pa10'"):
        md.simulate(md.load_robot("rr"), np.zeros(2), np.zeros(2), schedule, 1.0)


def test_a_schedule_for_other_effort_limits_is_rejected():
    """Regression: efforts beyond the limits of the arm were applied."""
    robot, zero = md.load_robot("rr"), np.zeros(2)
    schedule = md.Schedule(replace(robot, tau_max=2.0 * robot.tau_max), [0], [zero])
    message = r"with the effort limits \[300.0, 300.0\], .* with \[600.0, 600.0\]"
    with pytest.raises(md.ManipDynError, match=message):
        md.simulate(robot, zero, zero, schedule, 1.0)
    with pytest.raises(md.ManipDynError, match=message):
        md.simulate_many(robot, [zero], zero, [schedule], 1.0)
    heavier = md.load_robot("rr", mass_scale=1.1)
    Simulation(robot, zero, zero).law = md.Schedule(heavier, [0], [zero])


def test_functions_with_other_arguments_are_rejected():
    robot = md.load_robot("rr")
    with pytest.raises(md.ManipDynError, match=r"function of \(t, q, v\), got \(q\)"):
        md.simulate(robot, np.zeros(2), np.zeros(2), lambda q: q, 1.0)


@pytest.mark.parametrize(
    ("duration", "period", "times"),
    [
        (0.01, None, np.arange(11) * 1e-3),
        (0.01, 0.004, [0.0, 0.004, 0.008, 0.01]),
        (0.0025, None, [0.0, 0.001, 0.002, 0.0025]),
    ],
)
def test_the_last_sample_is_at_the_end(duration, period, times):
    robot = md.load_robot("pa10")
    result = md.simulate(robot, np.zeros(7), np.zeros(7), np.ones(7), duration, 1e-3, period)
    np.testing.assert_allclose(result.t, times, rtol=1e-12)
    assert result.q.shape == result.v.shape == result.tau.shape == (len(times), 7)
    assert result.energy.shape == (len(times), 4)
    assert (result.success, result.reason) == (True, "the whole duration was simulated")


def test_a_payload_slows_the_arm(tmp_path):
    """I = 10 + 5 * 1^2 with 5 kg at the end of a rod of 1 m."""
    load = {"payload": {"link": "tool0", "mass": 5.0}}
    robot = md.load_robot(write_shipped(tmp_path, "one_link_horizontal", **load))
    result = md.simulate(robot, [0.0], [0.0], [6.0], 1.0)
    np.testing.assert_allclose(result.v[-1], 6.0 / 15.0, rtol=1e-12)


ZERO = [0.0, 0.0]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.0], ZERO, ZERO, 1.0), "q0"),
        ((["a", "b"], ZERO, ZERO, 1.0), "q0"),
        (([4.0, 0.0], ZERO, ZERO, 1.0), "initial position of joint 'shoulder'"),
        ((ZERO, [np.nan, 0.0], ZERO, 1.0), "v0"),
        ((ZERO, ZERO, [1.0], 1.0), "effort"),
        ((ZERO, ZERO, [np.inf, 0.0], 1.0), "effort"),
        ((ZERO, ZERO, ZERO, 0.0), "duration"),
        ((ZERO, ZERO, ZERO, np.nan), "duration"),
        ((ZERO, ZERO, ZERO, 1.0, -1e-3), "step"),
        ((ZERO, ZERO, ZERO, 1.0, 1e-10), "step"),
        ((ZERO, ZERO, ZERO, 1.0, 1e-3, 0.0), "sample_period"),
        ((ZERO, ZERO, lambda _t, _q, _v: np.zeros(3), 1.0), "effort"),
        ((None, ZERO, ZERO, 1.0), "q0"),
        ((ZERO, ZERO, ZERO, "1"), "duration"),
        (
            (ZERO, ZERO, [held(md.load_robot("ibm7535"), ZERO)] * 2, 1.0),
            "effort must be one law for a single motion, got a list of 2",
        ),
    ],
)
def test_invalid_arguments_are_named(arguments, words):
    with pytest.raises(md.ManipDynError, match=words):
        md.simulate(md.load_robot("ibm7535"), *arguments)


@pytest.mark.parametrize(
    ("times", "efforts", "words"),
    [
        ([], [], "got 0 and 0"),
        ([0, 1], [[0.0]], "got 2 and 1"),
        ([5, 5], [[0.0], [1.0]], "must increase, got 5 ns followed by 5 ns"),
        ([0], [[np.nan]], "effort"),
        ([0], [[1.0, 2.0]], "effort"),
    ],
)
def test_invalid_schedules_are_rejected(times, efforts, words):
    with pytest.raises(md.ManipDynError, match=words):
        md.Schedule(md.load_robot("one_link_horizontal"), times, efforts)


def test_laws_require_a_robot_and_not_its_name():
    for law in (md.Schedule, md.simulation.Feedback):
        with pytest.raises(md.ManipDynError, match="robot"):
            law("rr", [0], [[0.0]])


def test_schedules_accept_arrays():
    robot = md.load_robot("one_link_horizontal")
    schedule = md.Schedule(robot, np.array([0, 10]), np.array([[1.0], [2.0]]))
    assert schedule.next_switch(0) == 10


def test_a_constant_effort_has_no_switch():
    law = held(md.load_robot("one_link_horizontal"), [3.0])
    assert law.next_switch(0) is None


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ibm7535", {"method": "rkdp87", "rtol": 1e-11, "atol": 1e-11}),
        ("ibm7535", {"method": "abm4", "step": 2e-4}),
        ("ibm7535", {"method": "taylor", "rtol": 1e-12}),
        ("branched", {"method": "rosenbrock_nystrom", "rtol": 1e-9, "atol": 1e-9}),
    ],
    ids=lambda value: value if isinstance(value, str) else value["method"],
)
def test_every_family_of_methods_simulates(tmp_path, name, options):
    """With switches inside steps, revolute and prismatic joints, and an energy balance."""
    branched = name == "branched"
    robot = md.load_robot(random_tree(tmp_path, 8, joints=3) if branched else name)
    q, v, effort = random_state(robot, np.random.default_rng(8))
    schedule = md.Schedule(robot, [0, 123_456_789], [effort, -effort])
    result = md.simulate(robot, q, v, schedule, 0.3, sample_period=0.1, **options)
    first = by_scipy(robot, q, v, lambda *_: effort, 0.123456789)
    n = robot.n
    exact = by_scipy(robot, first[:n], first[n:], lambda *_: -effort, 0.3 - 0.123456789)
    assert result.success
    np.testing.assert_allclose(end_of(result), exact, atol=2e-8)
    assert np.abs(result.energy[:, 3]).max() < 1e-7
    assert result.statistics.steps > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "rk44"}, "method must be one of md.METHODS, got 'rk44'.*did you mean 'rk4'"),
        ({"method": "rk4", "rtol": 1e-6}, "no error estimate"),
        ({"method": "taylor"}, "order must be .* without tolerances, got None"),
        ({"method": "taylor", "order": 2.5, "rtol": 1e-6}, "to 60, got 2.5"),
        ({"order": 5}, "order must be None for method 'rk4', got 5"),
        ({"rtol": -1.0}, "rtol"),
        ({"step": 0.0}, "step"),
    ],
)
def test_invalid_integrators_are_rejected(options, words):
    with pytest.raises(md.ManipDynError, match=words):
        md.simulate(md.load_robot("ibm7535"), [0, 0], [0, 0], [0, 0], 0.1, **options)


def test_taylor_series_exclude_feedback_laws():
    robot = md.load_robot("ibm7535")
    with pytest.raises(md.ManipDynError, match="must not be 'taylor' with a feedback law"):
        md.simulate(robot, [0, 0], [0, 0], swing, 0.1, method="taylor", rtol=1e-9)


def test_a_law_that_numba_cannot_compile_runs_in_python():
    """A computed torque in Python; methods other than RK4 reject it."""
    robot = md.load_robot("ibm7535")
    kernels = md.customize(robot)

    def computed(_t, q, v):
        return kernels.inverse_dynamics(q, v, -4.0 * q - 4.0 * v)

    result = md.simulate(robot, [0.3, -0.2], [0, 0], computed, 1.0)
    expected = np.array([0.3, -0.2]) * 3.0 * np.exp(-2.0)
    np.testing.assert_allclose(result.q[-1], expected, atol=1e-9)
    assert result.statistics == Statistics(steps=1000, failures=0, evaluations=4000)
    with pytest.raises(md.ManipDynError, match="cannot be compiled by numba"):
        md.simulate(robot, [0.3, -0.2], [0, 0], computed, 1.0, method="rkdp54", rtol=1e-6)


def test_the_repr_of_a_result_is_one_line():
    robot = md.load_robot("one_link_vertical")
    motion = md.simulate(robot, [0.3], [0.0], [0.0], 0.01)
    assert repr(motion) == f"Trajectory({motion.t[-1]:g} s, success)"


@pytest.mark.parametrize("method", ["rkdp54", "rodas5p", "taylor"])
def test_simulations_have_the_step_control_of_integrate(method):
    robot = md.load_robot("rr")
    start = robot, [0.1, 0.2], [0.0, 0.0], [1.0, 0.0], 0.2
    options = {"method": method, "rtol": 1e-3, "sample_period": 0.2}
    motion = md.simulate(*start, **options, control=md.StepControl(max_step=0.01))
    assert 20 <= motion.statistics.steps <= 22
    control = md.StepControl(max_step=0.01, max_steps=10)
    stopped = md.simulate(*start, **options, control=control)
    assert stopped.status is md.Status.TOO_MANY_STEPS


@pytest.mark.parametrize("period", [0.01, 1.0])
@pytest.mark.parametrize(
    "options", [{"step": 0.01}, {"method": "rkdp87", "rtol": 1e-9}], ids=["fixed", "adaptive"]
)
def test_the_largest_number_of_steps_is_that_of_the_whole_motion(options, period):
    robot, control = md.load_robot("rr"), md.StepControl(max_steps=5)
    start = robot, [0.1, 0.2], [0.0, 0.0]
    options = options | {"sample_period": period, "control": control}
    ensemble = md.simulate_many(*start, [1.0, 0.0], 1.0, **options)
    for effort in ([1.0, 0.0], lambda t, q, v: np.array([1.0, 0.0])):
        motion = md.simulate(*start, effort, 1.0, **options)
        assert motion.status is md.Status.TOO_MANY_STEPS
        assert motion.statistics.steps + motion.statistics.failures == 5
        assert "max_steps = 5 was reached" in motion.reason
    assert ensemble.status[0] == md.Status.TOO_MANY_STEPS
    assert ensemble.steps[0] + ensemble.failures[0] == 5
    assert ensemble.reason[0].startswith("max_steps was reached")


def test_the_largest_number_of_steps_applies_to_each_motion_after_a_reset():
    integrator = md.Integrator(step=0.01, control=md.StepControl(max_steps=5))
    simulation = md.Simulation(md.load_robot("rr"), [0.1, 0.2], [0.0, 0.0], integrator)
    for _ in range(3):
        simulation.advance(20_000_000)
        simulation.advance(30_000_000)
        with pytest.raises(md.ManipDynError, match="max_steps = 5 was reached"):
            simulation.advance(10_000_000)
        simulation.reset()
    assert simulation.statistics.steps == 15


def test_a_method_is_a_name_or_an_object():
    robot = md.load_robot("rr")
    start = robot, [0.1, 0.2], [0.0, 0.0], [1.0, 0.0], 0.1
    by_name, by_object, new = (
        md.simulate(*start, method=method)
        for method in ("rk8", md.METHODS["rk8"], md.RungeKutta.of("rk8_b"))
    )
    np.testing.assert_array_equal(by_name.q, by_object.q)
    assert np.abs(new.q - by_name.q).max() < 1e-12


LAWS = {
    "constant": lambda robot: np.full(robot.n, 2.0),
    "schedule": lambda robot: md.Schedule(
        robot, [5_000_000, 12_345_678, 30_000_000], np.outer([1.0, -2.0, 3.0], np.ones(robot.n))
    ),
    "function": lambda robot: swing,
    "PD control": lambda robot: md.PDControl(np.full(robot.n, 0.2), 30.0, 3.0, "gravity"),
    "gravity compensation": gravity_compensation,
}


ADAPTIVE = {"method": "rkdp54", "rtol": 1e-8}


@pytest.mark.parametrize(
    ("name", "options"), [*((name, {}) for name in LAWS), ("schedule", ADAPTIVE)]
)
def test_samples_are_the_states_between_advances(name, options):
    robot = md.load_robot("ibm7535")
    q0, v0 = np.array([0.3, -0.4]), np.array([0.1, 0.2])
    law = LAWS[name](robot)
    result = md.simulate(robot, q0, v0, law, 0.05, sample_period=0.007, **options)
    simulation = Simulation(robot, q0, v0, Integrator(**options))
    if name == "PD control":  # `Simulation` requires the law of the control
        law = PDLaw(simulation.kernels, law, 1e-3)
    simulation.law = Feedback(robot, law) if name == "function" else law
    if name == "constant":
        simulation.law = held(robot, law)
    period = 7_000_000
    for k in range(len(result.t)):
        assert simulation.time_ns == round(result.t[k] * 1e9) == min(k * period, 50_000_000)
        np.testing.assert_allclose(result.q[k], simulation.q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(result.v[k], simulation.v, rtol=0, atol=1e-13)
        np.testing.assert_allclose(result.tau[k], simulation.effort, rtol=1e-12)
        np.testing.assert_allclose(result.energy[k], simulation.energy(), atol=1e-11)
        simulation.advance(min(period, 50_000_000 - simulation.time_ns))
    assert result.statistics == simulation.statistics


def test_a_law_is_compiled_again_if_a_value_that_it_uses_changes():
    robot, gain = md.load_robot("ibm7535"), 1.0

    def law(t, q, v):
        return -gain * v

    slow = md.simulate(robot, [0.1, 0.2], [1.0, 1.0], law, 0.1)
    gain = 5.0
    fast = md.simulate(robot, [0.1, 0.2], [1.0, 1.0], law, 0.1)
    np.testing.assert_allclose(fast.tau[0], 5.0 * slow.tau[0])


@pytest.mark.parametrize("gain", ["settings.gain", "settings.motor.gain"])
@pytest.mark.parametrize("is_new", [False, True])
def test_a_law_is_compiled_again_if_an_attribute_of_a_module_changes(is_new, gain):
    robot, settings = md.load_robot("ibm7535"), ModuleType("settings")
    settings.motor = ModuleType("motor")
    owner = settings.motor if "motor" in gain else settings

    def defined():
        names = {"settings": settings}
        exec(f"def law(t, q, v):\n    return -{gain} * v", names)
        return names["law"]

    owner.gain, law = 1.0, defined()
    slow = md.simulate(robot, [0.1, 0.2], [1.0, 1.0], law, 0.1)
    owner.gain = 5.0
    fast = md.simulate(robot, [0.1, 0.2], [1.0, 1.0], defined() if is_new else law, 0.1)
    np.testing.assert_allclose(fast.tau[0], 5.0 * slow.tau[0])


def test_a_plan_is_sampled_once_for_all_motions_along_it(monkeypatch):
    robot = md.load_robot("ibm7535")
    plan = md.plan_zero_net_work(robot, [0.3, 0.2], [0.0, 0.0])
    control, calls, original = md.PDControl(plan, 100.0, 5.0), [], type(plan).state

    def state(plan, t):
        calls.append(t)
        return original(plan, t)

    monkeypatch.setattr(type(plan), "state", state)
    first = md.simulate(robot, plan.q0, [0.0, 0.0], control, 0.1)
    count = len(calls)
    assert count > 0
    second = md.simulate(robot, plan.q0, [0.0, 0.0], control, 0.1)
    assert len(calls) == count
    np.testing.assert_array_equal(first.q, second.q)


def test_a_motion_with_more_samples_than_a_chunk_is_complete():
    robot = md.load_robot("one_link_vertical")
    result = md.simulate(robot, [0.3], [0.0], [0.0], 1.0, 1e-4)
    assert len(result.t) == 10_001
    np.testing.assert_array_equal(result.t, 1e-9 * (100_000 * np.arange(10_001)))
    np.testing.assert_allclose(result.energy[:, 3], 0.0, atol=1e-9)


def test_a_law_that_raises_ends_a_motion_with_its_samples():
    def law(t, q, v):
        if t > 0.0101:
            raise ValueError("too late")
        return -v

    robot = md.load_robot("ibm7535")
    result = md.simulate(robot, [0.1, 0.2], [1.0, 1.0], law, 0.05)
    assert not result.success
    assert "too late" in result.reason
    assert len(result.t) == 11
    assert np.isfinite(result.tau).all()


def test_a_law_with_complex_efforts_is_rejected():
    robot = md.load_robot("rr")
    with pytest.raises(md.ManipDynError, match="effort law must return real numbers"):
        md.simulate(robot, [0.3, 0.3], [1.0, 1.0], lambda t, q, v: 1j * v, 0.2)
    with pytest.raises(md.ManipDynError, match="rhs must return real numbers"):
        md.integrate(lambda t, y: 1j * y, (0.0, 1.0), [1.0])


def test_a_motion_that_diverges_warns_only_by_its_status():
    robot = md.load_robot("rr")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        motion = md.simulate(robot, np.zeros(2), np.full(2, 1e200), np.zeros(2), 0.1)
    assert motion.status.name == "NON_FINITE"
