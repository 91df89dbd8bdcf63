"""A simulated arm that follows a joint trajectory by itself, and is held after it."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control.joint_trajectory import Code, JointSplines, Outcome, Waypoint
from manip_dyn.control.trajectory_follower import JointTolerance, Tolerances
from manip_dyn.simulation import SimulationWithStops
from manip_dyn.simulation.commanded_arm import Following

PERIOD, SECOND = 1_000_000, 1_000_000_000
START, END = np.array([0.4, -0.3]), np.array([1.2, 0.5])
ZERO = np.zeros(2)
OFF, PUSH = np.array([0.01, -0.004]), np.array([1.0, 0.0])
CANCELED = Outcome(Code.SUCCESSFUL, "canceled")


@pytest.fixture(scope="module")
def robot():
    return md.load_robot("rr")


class Run:
    """A simulation under a law that is told to go on every control period."""

    def __init__(self, robot, waypoints, start=0.0, v=ZERO, **tolerances):
        self.simulation = SimulationWithStops(robot, START, v)
        self.robot, self.start = robot, start
        self.law = Following(
            self.simulation.kernels,
            waypoints,
            Tolerances.of(robot, **tolerances),
            round(start * SECOND),
            (0, START, np.asarray(v)),
        )
        self.simulation.law = self.law

    def until(self, seconds, period=PERIOD):
        """Move on to a time; return times, positions and velocities."""
        found = []
        while self.simulation.time_ns < round(seconds * SECOND):
            self.simulation.advance(period)
            q, v = self.simulation.q, self.simulation.v
            self.law.update(self.simulation.time_ns, q, v)
            found.append((1e-9 * self.simulation.time_ns, q, v))
        return found


def smooth(effort=None):
    """Rest to rest in a second, by a polynomial of degree five."""
    tau = () if effort is None else effort
    return [Waypoint(0, START, ZERO, ZERO, tau), Waypoint(SECOND, END, ZERO, ZERO, tau)]


def test_it_follows_a_smooth_trajectory_closely_and_then_holds(robot):
    """Efforts held for h lack half of h's jerk; feedback of 400 1/s^2 leaves 1e-6 of it."""
    run = Run(robot, smooth(), goal=[JointTolerance("joint_1", 1e-3)])
    wanted = JointSplines(robot, smooth(), 0.0, START, ZERO)
    off = [
        (q - motion.q, v - motion.v)
        for t, q, v in run.until(1.0)
        for motion in (wanted.motion(t),)
    ]
    assert np.all(np.abs(off).max(axis=(0, 2)) < [2e-5, 5e-4])
    assert run.law.outcome.code is Code.SUCCESSFUL
    run.until(1.5)
    np.testing.assert_allclose(run.simulation.q, END, atol=1e-6)
    np.testing.assert_allclose(run.simulation.v, 0.0, atol=1e-6)


def test_what_it_is_off_falls_by_the_feedback(robot):
    """K = 400, D = 40: an error e0 at rest is e0 (1 + 20 t) exp(-20 t) later."""
    off = [Waypoint(0, START + OFF)]
    run = Run(robot, off)
    for t, q, _ in run.until(0.4):
        error = OFF * (1.0 + 20.0 * t) * np.exp(-20.0 * t)
        np.testing.assert_allclose(START + OFF - q, error, atol=5e-5)


def test_given_efforts_stand_for_those_of_the_model(robot):
    """The model's own, at every millisecond's middle, move it as none given do."""
    exact = JointSplines(robot, smooth(), 0.0, START, ZERO)
    inverse = md.customize(robot).inverse_dynamics
    times = [*range(0, SECOND, 5 * PERIOD), SECOND]
    states = [exact.motion(1e-9 * t) for t in times]
    rows = [Waypoint(t, *each, inverse(*each)) for t, each in zip(times, states, strict=True)]
    run = Run(robot, rows)
    for t, q, _ in run.until(1.0):
        np.testing.assert_allclose(q, exact.motion(t).q, atol=1e-4)
    more = [each._replace(effort=each.effort + PUSH) for each in rows]
    pushed = Run(robot, more)
    _, q, _ = pushed.until(0.5)[-1]
    wanted = exact.motion(0.5).q
    mass = md.customize(robot).mass_matrix(wanted)
    np.testing.assert_allclose(  # where feedback and the push are in balance, nearly
        q - wanted, np.linalg.solve(mass, PUSH) / 400.0, rtol=0.2, atol=2e-4
    )


def test_a_moving_arm_is_led_on_from_its_speed(robot):
    v = [0.3, -0.4]
    waypoints = [Waypoint(SECOND, END, ZERO)]
    run = Run(robot, waypoints, v=v)
    wanted = JointSplines(robot, waypoints, 0.0, START, np.array(v))
    for t, q, _ in run.until(1.0):
        np.testing.assert_allclose(q, wanted.motion(t).q, atol=1e-4)


def test_it_waits_for_its_beginning_and_holds_before_it(robot):
    run = Run(robot, [Waypoint(0, START, ZERO), *smooth()[1:]], start=0.2)
    *_, (_, q, _) = run.until(0.2)
    np.testing.assert_allclose(q, START, atol=1e-6)
    run.until(1.0)
    assert run.law.outcome is None
    run.until(1.25)
    assert run.law.outcome.code is Code.SUCCESSFUL


def test_a_stop_brakes_within_a_braking_distance_and_holds(robot):
    run = Run(robot, smooth())
    run.until(0.15)
    q, v = run.simulation.q, run.simulation.v
    assert np.abs(v).min() > 0.3
    run.law.stop(CANCELED)
    run.law.stop(Outcome(Code.INVALID_GOAL, "too late"))
    assert run.law.outcome is CANCELED
    energies = [run.simulation.energy().kinetic]
    for _ in range(500):
        run.until(1e-9 * run.simulation.time_ns + 1e-3)
        energies.append(run.simulation.energy().kinetic)
    assert max(energies) == energies[0]
    way = run.simulation.q - q
    np.testing.assert_allclose(way, v / 20.0, rtol=0.2)  # the brake's rate is 20 / s
    held = run.simulation.q
    run.until(2.0)
    np.testing.assert_allclose(run.simulation.q, held, atol=1e-5)


def test_leaving_the_path_ends_it_by_braking(robot):
    jump = [Waypoint(SECOND // 100, END)]
    run = Run(robot, jump, path=[JointTolerance("joint_1", 0.05)])
    run.until(1.0)
    assert run.law.outcome.code is Code.PATH_TOLERANCE_VIOLATED
    assert np.abs(run.simulation.v).max() < 1e-4
    assert run.simulation.q[0] < END[0] - 0.1


def test_what_is_not_reached_in_time_is_told_and_the_arm_braked(robot):
    jump = [Waypoint(SECOND // 100, END)]
    goal = [JointTolerance("joint_1", 1e-4), JointTolerance("joint_2", 1e-4)]
    run = Run(robot, jump, goal=goal, goal_time=0.02)
    run.until(0.5)
    assert run.law.outcome.code is Code.GOAL_TOLERANCE_VIOLATED
    patient = Run(robot, jump, goal=goal)
    patient.until(2.0)
    assert patient.law.outcome.code is Code.SUCCESSFUL


def test_efforts_stay_within_their_limits(robot):
    run = Run(robot, [Waypoint(1, END)])
    for time_ns in range(0, 20 * PERIOD, PERIOD):
        effort = run.law.effort(time_ns, run.simulation.q, run.simulation.v)
        assert np.all(np.abs(effort) <= robot.tau_max)
        run.simulation.advance(PERIOD)


def test_a_long_control_period_changes_nothing_of_the_law(robot):
    fine, coarse = Run(robot, smooth()), Run(robot, smooth())
    fine.until(0.5)
    coarse.until(0.5, period=20 * PERIOD)
    assert fine.simulation.q.tolist() == coarse.simulation.q.tolist()
