"""The arm driver follows a path from measured states, resumes it, and restarts it after resets."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.clik import ArmDriver
from manip_dyn.control import JointMotion
from manip_dyn.simulation import Simulation, held

STEP = 0.002
STEP_NS = 2_000_000
START = [0.0, 0.5, 0.0, 0.9, 0.0, 0.4, 0.0]


class DrivenArm:
    """A driver and a simulated arm in lockstep."""

    def __init__(self, **options):
        robot = md.load_robot("pa10")
        tool = md.customize(robot).forward_kinematics(START)
        circle = md.Circle(
            tool[:3, 3] - 0.1 * tool[:3, 0],
            tool[:3, 2],
            tool[:3, 0],
            tool[:3, :3],
            0.05,
            0.5,
            ramp=0.5,
        )
        self.reference = md.JointReference(md.PathFollower(robot, circle, START, STEP))
        self.starts = []
        controller = md.ComputedTorque(robot, 400.0, 40.0, STEP)
        self.driver = ArmDriver(self.reference, controller, self.starts.append, **options)
        self.simulation = Simulation(robot, START, np.zeros(7))
        self.stamp = 7_000_000_000
        self.efforts = []

    def go(self, periods, late=0):
        """Advance by a number of periods with late efforts; return the largest joint error."""
        for _ in range(periods):
            simulation = self.simulation
            efforts = self.driver.answer(self.stamp, simulation.q, simulation.v)
            self.efforts.append(efforts.effort)
            effort = self.efforts[-1 - late]
            simulation.law = held(simulation.robot, effort)
            simulation.advance(STEP_NS)
            self.stamp += STEP_NS
        return np.abs(self.simulation.q - self.driver.desired.q).max()


def test_the_path_starts_at_the_first_stamp():
    driven = DrivenArm()
    assert driven.go(300) < 1e-3
    assert driven.starts == [7_000_000_000]
    assert driven.driver.steps == 299
    assert driven.reference.sample.t == pytest.approx(299 * STEP)
    assert driven.driver.pick_ups == 0


def test_efforts_for_their_time_cause_no_error():
    """Regression: with a delay, feedback opposed the motion: errors and energies grew."""
    errors = []
    for late, lead in ((0, 0.0), (5, 5 * STEP), (5, 0.0)):
        driven = DrivenArm()
        driven.go(10)  # at rest
        driven.driver.lead = lead
        driven.go(300, late)
        q, desired = driven.simulation.q, driven.driver.newest.motion.q
        errors.append(np.abs(q - desired - STEP * driven.simulation.v).max())
    assert errors[1] < 1.1 * errors[0]
    assert errors[2] > 10.0 * errors[0]


class VelocityStep(md.JointReference):
    """A reference at rest whose joints move at a constant speed from a step on."""

    FIRST, SPEED = 10, 0.02

    @property
    def motion(self):
        k = round(self.sample.t / STEP)
        starts = k == self.FIRST - 1
        q = START + np.full(7, self.SPEED * STEP * max(k - self.FIRST + 0.5, 0.0))
        v = np.full(7, 0.0 if k < self.FIRST else self.SPEED)
        return JointMotion(q, v, np.full(7, self.SPEED / STEP if starts else 0.0))


@pytest.mark.parametrize("missing", [0, 4])
def test_a_velocity_step_acts_once_if_states_are_missing(missing):
    """Regression: at a joint limit and with lost states, the energy rose to 7.4 times."""
    driven = DrivenArm()
    driven.driver._reference = VelocityStep(driven.reference.follower)
    driven.driver.gap = missing * STEP
    driven.go(VelocityStep.FIRST - 1)
    driven.go(1)
    before = driven.simulation.v
    driven.simulation.advance(missing * STEP_NS)  # the last efforts are held
    assert np.abs(before).max() <= 1.01 * VelocityStep.SPEED
    assert np.abs(driven.simulation.v).max() <= 2.0 * VelocityStep.SPEED


def test_the_reference_waits_while_a_brake_acts():
    driven = DrivenArm()
    driven.go(200)
    driven.driver.hold(3 * STEP_NS - 1)
    driven.stamp += 3 * STEP_NS
    driven.go(1)
    assert driven.reference.sample.t == pytest.approx(200 * STEP)


@pytest.mark.parametrize(
    ("options", "event", "message"),
    [
        ({"max_error": 0.005}, "jolt", "joint 'S2' was 0.00"),
        ({"timeout": 0.1}, "silence", "no joint state for 0.4"),
    ],
)
def test_the_path_is_resumed_after_a_jolt_or_a_silence(options, event, message):
    driven = DrivenArm(**options)
    driven.go(100)
    if event == "jolt":
        jolted = driven.simulation.v
        jolted[1] += 0.4
        driven.simulation = Simulation(driven.simulation.robot, driven.simulation.q, jolted)
        driven.go(20)
    else:
        driven.stamp += 200 * STEP_NS
    driven.go(1)
    assert driven.driver.pick_ups == 1
    assert message in driven.driver.reason
    path_time = driven.reference.path_time
    error = driven.go(1500)
    assert driven.driver.pick_ups == 1
    assert error < 1e-3
    assert driven.reference.on_path
    assert driven.reference.path_time > path_time


def test_a_paused_arm_is_held_and_a_restart_approaches_the_path_again():
    driven = DrivenArm()
    driven.go(400)
    driven.driver.paused = True
    driven.go(600)
    here = driven.simulation.q
    driven.go(200)
    np.testing.assert_allclose(driven.simulation.q, here, atol=1e-9)
    assert driven.reference.sample.t == pytest.approx(399 * STEP)
    driven.driver.paused = False
    driven.driver.restart()
    stamp = driven.stamp
    assert driven.go(1500) < 1e-3
    assert len(driven.starts) == 2
    assert driven.starts[-1] > stamp  # the approach to the path's first pose comes first
    assert driven.reference.path_time == pytest.approx(
        (driven.stamp - driven.starts[-1]) * 1e-9 - STEP
    )


def test_a_fast_arm_is_braked_before_it_follows_the_path():
    driven = DrivenArm(max_error=0.02)
    driven.go(100)
    fast = np.array([2.0, -2.0, 2.0, 2.0, -3.0, 3.0, 3.0])
    driven.simulation = Simulation(driven.simulation.robot, driven.simulation.q, fast)
    speeds = []
    driven.go(10)
    assert driven.driver.braking
    assert "joint error [rad or m]" not in driven.driver.report()
    while driven.driver.braking and len(speeds) < 3000:
        driven.go(1)
        speeds.append(np.abs(driven.simulation.v).max())
    assert speeds[-1] <= 0.5 * 0.5 + 0.05
    assert driven.driver.pick_ups == 1
    for _ in range(16):
        error = driven.go(1000)
        if driven.reference.on_path:
            break
    assert driven.reference.on_path
    assert error < 1e-3
    assert driven.driver.pick_ups == 1


def test_the_path_restarts_after_a_reset_with_wall_clock_stamps():
    """Wall-clock stamps continue while the arm jumps."""
    driven = DrivenArm()
    driven.go(500)
    assert driven.reference.path_time > 0.9
    elsewhere = np.add(driven.simulation.q, [0.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    driven.simulation = Simulation(driven.simulation.robot, elsewhere, np.zeros(7))
    driven.go(1)
    assert driven.driver.resets == 1
    assert driven.driver.pick_ups == 0
    assert "joint 'S1' jumped by" in driven.driver.reason
    assert driven.reference.path_time == 0.0
