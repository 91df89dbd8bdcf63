"""What a follower tells of its motion."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.clik.diagnostics import TrackingDiagnostics
from manip_dyn.clik.samples import TrackingSample

PLANE = (True, True, False, False, False, False)
Q = np.array([0.7, 0.9])


def sample(**changes):
    here = md.clik.Pose(np.zeros(3), np.eye(3))
    given = {
        "t": 1.5, "q": Q, "v": np.zeros(2), "desired": here, "actual": here, "error": np.zeros(6),
        "smallest_singular_value": 0.2, "damping": 0.1, "speed_scale": 1.0, "at_limit": (),
        "path_time": 1.5, "escape_speed": 0.0,
    }  # fmt: skip
    return TrackingSample(**(given | changes))


@pytest.fixture
def watch():
    path = md.Circle([0.5, 0.0, 0.0], [0, 0, 1], [1, 0, 0], np.eye(3), 0.1)
    return TrackingDiagnostics(md.load_robot("ibm7535"), path, 1e-3, PLANE)


def test_a_singularity_is_told_with_its_singular_value(watch):
    watch.look(sample(), gain=10.0)
    assert watch.news == ["near a singularity at 1.500 s: smallest singular value 0.2"]


@pytest.mark.parametrize(("held", "value"), [(("elbow",), "0"), (("shoulder", "elbow"), "0")])
def test_a_joint_at_its_limit_that_makes_it_is_named(watch, held, value):
    """Seen: the value of all joints, far from singular."""
    watch.look(sample(at_limit=held), gain=10.0)
    assert watch.news[-1] == (
        f"near a singularity at 1.500 s: smallest singular value {value} without what is at its "
        f"limit, {', '.join(held)} (0.2 with it)"
    )


def test_the_value_is_that_of_the_joints_that_are_free():
    robot = md.load_robot("pa10")
    path = md.Circle([0.5, 0.0, 0.0], [0, 0, 1], [1, 0, 0], np.eye(3), 0.1)
    watch = TrackingDiagnostics(robot, path, 1e-3)
    q = np.array([0.1, 0.6, -0.2, 1.2, 0.3, 0.8, 0.1])
    watch.look(sample(q=q, v=0.0 * q, at_limit=("S3",)), gain=10.0)
    free = np.delete(md.customize(robot).jacobian(q), 2, axis=1)
    expected = np.sqrt(np.linalg.eigvalsh(free @ free.T)[0])
    told = float(watch.news[-1].split("value ")[1].split()[0])
    assert told == pytest.approx(expected, rel=1e-2)


def test_a_limit_met_on_the_way_to_a_target_is_told_while_it_holds(watch):
    """Seen: told for good, two reached targets later. On a path it is kept: laps repeat it."""
    target = md.SmoothTarget((np.zeros(3), np.eye(3)))
    free = TrackingDiagnostics(md.load_robot("ibm7535"), target, 1e-3, PLANE)
    for each, later in ((free, ""), (watch, "joint limit met: elbow")):
        held, over = sample(damping=0.0, at_limit=("elbow",)), sample(damping=0.0, t=2.0)
        each.look(held, gain=10.0)
        assert each.sentence(held) == "joint limit met: elbow"
        each.look(over, gain=10.0)
        assert each.sentence(over) == later
