"""A simulated arm that follows a joint trajectory and holds the last point."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.control import Code, JointSplines, JointTolerance, Outcome, Tolerances, Waypoint
from manip_dyn.simulation import Following, SimulationWithStops

PERIOD, SECOND = 1_000_000, 1_000_000_000
START, END = np.array([0.4, -0.3]), np.array([1.2, 0.5])
ZERO = np.zeros(2)
OFF, PUSH = np.array([0.01, -0.004]), np.array([1.0, 0.0])
CANCELED = Outcome(Code.SUCCESSFUL, "canceled")


@pytest.fixture(scope="module")
def robot():
    return md.load_robot("rr")


class Run:
    """A simulation under a law that is updated every control period."""

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
        """Advance to a time; return times, positions and velocities."""
        samples = []
        while self.simulation.time_ns < round(seconds * SECOND):
            self.simulation.advance(period)
            q, v = self.simulation.q, self.simulation.v
            self.law.update(self.simulation.time_ns, q, v)
            samples.append((1e-9 * self.simulation.time_ns, q, v))
        return samples


def smooth(effort=None):
    """Return waypoints of a motion from rest to rest in one second, of degree five."""
    tau = () if effort is None else effort
    return [Waypoint(0, START, ZERO, ZERO, tau), Waypoint(SECOND, END, ZERO, ZERO, tau)]


def test_a_smooth_trajectory_is_followed_closely_and_its_end_is_held(robot):
    """Efforts held for h differ by half the jerk times h; feedback reduces the error to 1e-6."""
    run = Run(robot, smooth(), goal=[JointTolerance("joint_1", 1e-3)])
    reference = JointSplines(robot, smooth(), 0.0, START, ZERO)
    errors = [
        (q - motion.q, v - motion.v)
        for t, q, v in run.until(1.0)
        for motion in (reference.motion(t),)
    ]
    assert np.all(np.abs(errors).max(axis=(0, 2)) < [2e-5, 5e-4])
    assert run.law.outcome.code is Code.SUCCESSFUL
    run.until(1.5)
    np.testing.assert_allclose(run.simulation.q, END, atol=1e-6)
    np.testing.assert_allclose(run.simulation.v, 0.0, atol=1e-6)


def test_errors_decrease_at_the_rate_of_the_feedback(robot):
    """With K = 400 and D = 40 an error e0 at rest becomes e0 (1 + 20 t) exp(-20 t)."""
    run = Run(robot, [Waypoint(0, START + OFF)])
    for t, q, _ in run.until(0.4):
        error = OFF * (1.0 + 20.0 * t) * np.exp(-20.0 * t)
        np.testing.assert_allclose(START + OFF - q, error, atol=5e-5)


def test_efforts_of_the_trajectory_replace_those_of_the_model(robot):
    """The efforts of the model give the same motion; additional efforts give an offset."""
    exact = JointSplines(robot, smooth(), 0.0, START, ZERO)
    inverse = md.customize(robot).inverse_dynamics
    times = [*range(0, SECOND, 5 * PERIOD), SECOND]
    states = [exact.motion(1e-9 * t) for t in times]
    rows = [Waypoint(t, *state, inverse(*state)) for t, state in zip(times, states, strict=True)]
    run = Run(robot, rows)
    for t, q, _ in run.until(1.0):
        np.testing.assert_allclose(q, exact.motion(t).q, atol=1e-4)
    pushed = Run(robot, [row._replace(effort=row.effort + PUSH) for row in rows])
    _, q, _ = pushed.until(0.5)[-1]
    reference = exact.motion(0.5).q
    mass = md.customize(robot).mass_matrix(reference)
    np.testing.assert_allclose(  # feedback and push are nearly in balance
        q - reference, np.linalg.solve(mass, PUSH) / 400.0, rtol=0.2, atol=2e-4
    )


def test_the_motion_starts_with_the_velocity_of_the_arm(robot):
    v = [0.3, -0.4]
    waypoints = [Waypoint(SECOND, END, ZERO)]
    run = Run(robot, waypoints, v=v)
    reference = JointSplines(robot, waypoints, 0.0, START, np.array(v))
    for t, q, _ in run.until(1.0):
        np.testing.assert_allclose(q, reference.motion(t).q, atol=1e-4)


def test_the_arm_is_held_until_the_start_of_the_trajectory(robot):
    run = Run(robot, [Waypoint(0, START, ZERO), *smooth()[1:]], start=0.2)
    *_, (_, q, _) = run.until(0.2)
    np.testing.assert_allclose(q, START, atol=1e-6)
    run.until(1.0)
    assert run.law.outcome is None
    run.until(1.25)
    assert run.law.outcome.code is Code.SUCCESSFUL


def test_a_stop_brakes_the_arm_and_holds_it(robot):
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
    distance = run.simulation.q - q
    np.testing.assert_allclose(distance, v / 20.0, rtol=0.2)  # the rate of the brake is 20 / s
    stopped = run.simulation.q
    run.until(2.0)
    np.testing.assert_allclose(run.simulation.q, stopped, atol=1e-5)


def test_an_arm_off_its_path_is_braked(robot):
    jump = [Waypoint(SECOND // 100, END)]
    run = Run(robot, jump, path=[JointTolerance("joint_1", 0.05)])
    run.until(1.0)
    assert run.law.outcome.code is Code.PATH_TOLERANCE_VIOLATED
    assert np.abs(run.simulation.v).max() < 1e-4
    assert run.simulation.q[0] < END[0] - 0.1


def test_an_arm_late_at_its_goal_is_braked(robot):
    jump = [Waypoint(SECOND // 100, END)]
    goal = [JointTolerance("joint_1", 1e-4), JointTolerance("joint_2", 1e-4)]
    run = Run(robot, jump, goal=goal, goal_time=0.02)
    run.until(0.5)
    assert run.law.outcome.code is Code.GOAL_TOLERANCE_VIOLATED
    unlimited = Run(robot, jump, goal=goal)
    unlimited.until(2.0)
    assert unlimited.law.outcome.code is Code.SUCCESSFUL


def test_efforts_are_within_their_limits(robot):
    run = Run(robot, [Waypoint(1, END)])
    for time_ns in range(0, 20 * PERIOD, PERIOD):
        effort = run.law.effort(time_ns, run.simulation.q, run.simulation.v)
        assert np.all(np.abs(effort) <= robot.tau_max)
        run.simulation.advance(PERIOD)


def test_the_motion_is_independent_of_the_control_period(robot):
    fine, coarse = Run(robot, smooth()), Run(robot, smooth())
    fine.until(0.5)
    coarse.until(0.5, period=20 * PERIOD)
    assert fine.simulation.q.tolist() == coarse.simulation.q.tolist()
