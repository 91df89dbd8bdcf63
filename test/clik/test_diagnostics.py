"""Diagnostics of a tracked motion: singularities and joint limits."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.clik import Pose, TrackingDiagnostics

PLANE = (True, True, False, False, False, False)
Q = np.array([0.7, 0.9])


def sample(**changes):
    here = Pose(np.zeros(3), np.eye(3))
    values = {
        "t": 1.5, "q": Q, "v": np.zeros(2), "desired": here, "actual": here, "error": np.zeros(6),
        "smallest_singular_value": 0.2, "damping": 0.1, "speed_scale": 1.0, "at_limit": (),
        "path_time": 1.5, "escape_speed": 0.0,
    }  # fmt: skip
    return md.TrackingSample(**(values | changes))


@pytest.fixture
def diagnostics():
    path = md.Circle([0.5, 0.0, 0.0], [0, 0, 1], [1, 0, 0], np.eye(3), 0.1)
    return TrackingDiagnostics(md.load_robot("ibm7535"), path, 1e-3, PLANE)


def test_a_singularity_is_reported_with_its_singular_value(diagnostics):
    diagnostics.look(sample(), gain=10.0)
    assert diagnostics.news == ["near a singularity at 1.500 s: smallest singular value 0.2"]


@pytest.mark.parametrize(("held", "value"), [(("elbow",), "0"), (("shoulder", "elbow"), "0")])
def test_joints_at_their_limits_are_named_as_the_cause(diagnostics, held, value):
    """The value of all joints can be far from singular."""
    diagnostics.look(sample(at_limit=held), gain=10.0)
    assert diagnostics.news[-1] == (
        f"near a singularity at 1.500 s: smallest singular value {value} without joints at their "
        f"limits ({', '.join(held)}), 0.2 with them"
    )


def test_the_reported_singular_value_is_that_of_the_free_joints():
    robot = md.load_robot("pa10")
    path = md.Circle([0.5, 0.0, 0.0], [0, 0, 1], [1, 0, 0], np.eye(3), 0.1)
    diagnostics = TrackingDiagnostics(robot, path, 1e-3)
    q = np.array([0.1, 0.6, -0.2, 1.2, 0.3, 0.8, 0.1])
    diagnostics.look(sample(q=q, v=0.0 * q, at_limit=("S3",)), gain=10.0)
    free = np.delete(md.customize(robot).jacobian(q), 2, axis=1)
    expected = np.sqrt(np.linalg.eigvalsh(free @ free.T)[0])
    value = float(diagnostics.news[-1].split("value ")[1].split()[0])
    assert value == pytest.approx(expected, rel=1e-2)


def test_a_limit_on_the_way_to_a_target_is_reported_while_the_joint_is_at_it(diagnostics):
    """A target changes. On a path a limit remains reported, because laps repeat it."""
    target = md.SmoothTarget((np.zeros(3), np.eye(3)))
    free = TrackingDiagnostics(md.load_robot("ibm7535"), target, 1e-3, PLANE)
    for monitor, later in ((free, ""), (diagnostics, "joint limit met: elbow")):
        at_limit, after = sample(damping=0.0, at_limit=("elbow",)), sample(damping=0.0, t=2.0)
        monitor.look(at_limit, gain=10.0)
        assert monitor.sentence(at_limit) == "joint limit met: elbow"
        monitor.look(after, gain=10.0)
        assert monitor.sentence(after) == later
