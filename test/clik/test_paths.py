"""Paths: the twist is the derivative of the pose, ends are smooth, invalid files are reported."""

import numpy as np
import pytest
from numba import njit
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.clik import Timing, tool_pose

TURNED = Rotation.from_euler("xyz", [0.3, -0.7, 1.1])
TURNED_AGAIN = Rotation.from_euler("xyz", [-0.4, 0.2, 2.0])
CORNERS = [
    ([0.4, 0.0, 0.5], TURNED.as_quat()),
    ([0.5, 0.2, 0.6], TURNED_AGAIN.as_quat()),
    ([0.3, 0.3, 0.4], np.eye(3)),
]


def circle(**options):
    return md.Circle([0.1, 0.2, 0.3], [1, 1, 2], [1, 0, 0], TURNED.as_matrix(), **options)


def lissajous(**options):
    return md.Lissajous([0, 0, 1], [0.1, 0.2, 0.05], [1, 2, 3], TURNED.as_quat(), 9.0, **options)


PATHS = {
    "line": md.Line(CORNERS[0], CORNERS[1]),
    "turn in place": md.Line(CORNERS[0], (CORNERS[0][0], np.eye(3))),
    "circle": circle(),
    "circle, smooth, one lap": circle(ramp=2.0, rounds=1.0),
    "circle along its tangent": circle(follow_tangent=True, ramp=1.0),
    "lissajous": lissajous(),
    "lissajous, two laps": lissajous(rounds=2, phases=[0.1, 0.2, 0.3]),
    "waypoints": md.Waypoints(CORNERS),
    "waypoints, exact times": md.Waypoints(CORNERS, [0.0, 1.0, 4.0], ramp=0.0),
    "closed waypoints": md.Waypoints([*CORNERS, CORNERS[0]], rounds=2),
    "target": md.Target(CORNERS[0], [0.1, 0.2, 0.3, 0.5, -0.4, 0.3]),
}


@pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
def test_the_twist_is_the_derivative_of_the_pose(path):
    step = 1e-5
    end = min(path.duration, 30.0)
    for t in np.linspace(0.03, 0.97, 13) * end:
        ahead, behind = path.pose(t + step), path.pose(t - step)
        linear = (ahead.position - behind.position) / (2 * step)
        turned = Rotation.from_matrix(ahead.rotation @ behind.rotation.T).as_rotvec()
        twist = path.twist(t)
        np.testing.assert_allclose(twist[:3], linear, atol=2e-9)
        np.testing.assert_allclose(twist[3:], turned / (2 * step), atol=1e-8)
        rotation = path.pose(t).rotation
        np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-14)


@pytest.mark.parametrize(
    "name", [n for n in PATHS if n not in {"target", "waypoints, exact times"}]
)
def test_a_path_with_ramps_starts_and_ends_at_rest(name):
    path = PATHS[name]
    if path.settled == 0.0:
        assert np.linalg.norm(path.twist(0.0)) > 0.05
        return
    ends = [0.0] if name in ("lissajous", "circle along its tangent") else [0.0, path.duration]
    for end in ends:
        assert np.abs(path.twist(end)).max() < 1e-12
        accelerations = (path.twist(end + 1e-4) - path.twist(end - 1e-4)) / 2e-4
        assert np.abs(accelerations).max() < 1e-4
    if len(ends) == 2:
        after = path.pose(path.duration + 5.0)
        np.testing.assert_allclose(after.position, path.pose(path.duration).position, atol=1e-14)


def test_speeds_and_ends_match_the_arguments():
    line = md.Line(CORNERS[0], CORNERS[1], 0.1, 9.0, ramp=0.5)
    middle = line.twist(0.5 * line.duration)
    assert np.linalg.norm(middle[:3]) == pytest.approx(0.1)
    np.testing.assert_allclose(line.pose(line.duration).position, CORNERS[1][0], atol=1e-14)
    np.testing.assert_allclose(
        line.pose(line.duration).rotation, TURNED_AGAIN.as_matrix(), atol=1e-14
    )
    assert circle().radius == 0.5
    assert np.linalg.norm(circle().twist(0.0)[:3]) == pytest.approx(0.1)
    one = circle(rounds=1.0)
    np.testing.assert_allclose(one.pose(one.duration).position, one.pose(0.0).position, atol=1e-14)


def test_a_short_path_never_reaches_its_speed():
    timing = Timing(rate=1.0, ramp=2.0, end=0.5)
    assert timing.cruise == 0.25
    assert timing.duration == 4.0


def test_a_tangent_circle_rotates_the_tool_with_the_radius():
    path = circle(follow_tangent=True)
    first, later = path.pose(0.0), path.pose(3.0)
    in_tool = [pose.rotation.T @ path.twist(t)[:3] for pose, t in ((first, 0.0), (later, 3.0))]
    np.testing.assert_allclose(*in_tool, atol=1e-15)


def test_waypoints_are_passed_smoothly():
    times = [0.0, 1.0, 4.0]
    path = md.Waypoints(CORNERS, times, ramp=0.0)
    rotations = [TURNED.as_matrix(), TURNED_AGAIN.as_matrix(), np.eye(3)]
    for t, (position, _), rotation in zip(times, CORNERS, rotations, strict=True):
        pose = path.pose(t)
        np.testing.assert_allclose(pose.position, position, atol=1e-14)
        np.testing.assert_allclose(pose.rotation, rotation, atol=1e-13)
    small = 1e-6  # the acceleration is continuous at the waypoint
    before, at, after = (path.twist(1.0 + d) for d in (-small, 0.0, small))
    np.testing.assert_allclose((at - before) / small, (after - at) / small, atol=2e-4)


def test_a_target_moves_from_the_pose_where_it_was_set():
    target = md.Target(CORNERS[0])
    twist = np.array([0.1, 0.0, -0.1, 0.2, 0.3, 0.1])
    target.set(CORNERS[1], twist, t=4.0)
    np.testing.assert_allclose(target.pose(4.0).position, CORNERS[1][0], atol=1e-14)
    np.testing.assert_allclose(target.pose(4.0).rotation, TURNED_AGAIN.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(target.twist(6.0), twist, atol=1e-15)
    for invalid in (([np.nan, 0, 0], np.eye(3)), ([0, 0, 0], [0, 0, 0, 0])):
        with pytest.raises(md.ManipDynError, match=r"target"):
            target.set(invalid)
    with pytest.raises(md.ManipDynError, match="t must be a finite number"):
        target.set(CORNERS[0], t=np.nan)
    np.testing.assert_allclose(target.pose(4.0).position, CORNERS[1][0], atol=1e-14)


GOOD = """t,x,y,z,qx,qy,qz,qw
# recorded by hand
0,0.4,0,0.5,0,0,0,1
1,0.5,0.1,0.5,0,0,0.1,0.995
3,0.5,0.2,0.4,0,0,-0.2,-0.98
"""


def test_a_csv_file_defines_a_path(tmp_path):
    file = tmp_path / "path.csv"
    file.write_text(GOOD)
    path = md.path_from_csv(file)
    assert path.duration == 3.0
    np.testing.assert_allclose(path.pose(1.0).position, [0.5, 0.1, 0.5], atol=1e-14)
    turned = Rotation.from_quat([0, 0, -0.2, -0.98]).as_matrix()
    np.testing.assert_allclose(path.pose(3.0).rotation, turned, atol=1e-12)
    assert md.path_from_csv(file, ramp=1.0).duration == 4.0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "0.1,0.5,0,0,0.1",
            "0.1,zz,0,0,0.1",
            "line 4, column z must be a finite number, got 'zz'",
        ),
        (
            "0.1,0.5,0,0,0.1",
            "0.1,nan,0,0,0.1",
            "line 4, column z must be a finite number, got 'nan'",
        ),
        ("1,0.5,0.1,0.5,0,0,0.1,0.995", "1,0.5,0.1", "line 4 must have the columns t, x, y"),
        ("0,0,0,1\n", "0,0,0,0\n", "line 3, columns qx to qw must be a quaternion"),
        ("3,0.5", "1,0.5", "line 5, column t must increase, got 1 followed by 1"),
        ("3,0.5,0.2", "1.01,0.5,0.9", "got a jump of 0.8062 m in 0.01 s"),
        (
            "3,0.5,0.2,0.4,0,0,-0.2,-0.98",
            "1.05,0.5,0.1,0.5,1,0,0,0",
            "got a jump of 3.142 rad in 0.05",
        ),
    ],
)
def test_errors_in_a_csv_file_are_reported_with_line_and_column(tmp_path, old, new, message):
    file = tmp_path / "path.csv"
    assert old in GOOD
    file.write_text(GOOD.replace(old, new, 1))
    with pytest.raises(md.ManipDynError) as error:
        md.path_from_csv(file)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda: md.path_from_csv("/no/file.csv"), "path file '/no/file.csv' cannot be read"),
        (lambda: md.Line(CORNERS[0], CORNERS[0]), "line end must differ from the line start"),
        (
            lambda: md.Line(CORNERS[0], ([0, 0, 1], [0, 0, 0, 0])),
            "must be a quaternion of length 1, got [0.0",
        ),
        (
            lambda: md.Line(CORNERS[0], ([0, 0, 1], "identity")),
            "orientation must be numbers of shape (3, 3), got 'identity'",
        ),
        (
            lambda: md.Line(CORNERS[0], ([0, 0, 1], [[1, 0, 0], [0, 1, 0], [0, 0]])),
            "orientation must be numbers of shape (3, 3), got [[1, 0, 0], [0, 1, 0], [0, 0]]",
        ),
        (
            lambda: md.Line(CORNERS[0], ([0, 0, 1], np.diag([1.0, 1.0, -1.0]))),
            "orientation must be a rotation matrix (3, 3), got [[1.0",
        ),
        (lambda: md.Line([0, 0, 1], CORNERS[0]), "line start must be a pair of"),
        (lambda: md.Line(*CORNERS[:2], ramp=-1.0), "ramp"),
        (lambda: md.Waypoints(CORNERS[:1]), "poses must be two or more waypoints, got 1"),
        (lambda: md.Waypoints([CORNERS[0]] * 2), "the same pose for waypoints 1 and 2"),
        (lambda: md.Waypoints(CORNERS, [0, 2, 1]), "times must increase, got 2 s followed by 1 s"),
        (lambda: md.Waypoints(CORNERS, rounds=2), "rounds must be 1, or"),
        (
            lambda: md.Lissajous([0] * 3, [1, 1, 1], [1, 2.5, 3], np.eye(3)),
            "lissajous frequencies must be integers",
        ),
        (lambda: circle(rounds=0), "rounds"),
        (lambda: circle(linear_speed=np.inf), "linear speed"),
    ],
)
def test_invalid_paths_are_rejected(create, message):
    with pytest.raises(md.ManipDynError) as error:
        create()
    assert message in str(error.value)


def test_a_jump_between_waypoints_is_rejected():
    poses = [([x, 0.0, 0.4], [0, 0, 0, 1]) for x in (0.4, 0.5, 0.3)]
    with pytest.raises(
        md.ManipDynError, match=r"waypoints must be at most .* apart, got .* from waypoint 1 to 2"
    ):
        md.Waypoints(poses, times=[0.0, 1e-6, 1.0])
    with pytest.raises(md.ManipDynError, match="must be a quaternion of length 1"):
        md.Line(([0.4, 0.0, 0.4], [0, 0, 0, 2]), poses[1])


@njit
def along_x(t, parameters, out):
    out[:12], out[12:] = parameters[1:], 0.0
    out[0] += parameters[0] * t
    out[12] = parameters[0]


@njit
def ending(t, parameters, out):
    along_x(t, parameters, out)
    if t > 0.2:
        raise ValueError("the path ends")


@njit
def returning(t, parameters, out):
    return out


class AlongX(md.Path):
    """A user-defined path along the x axis."""

    function = along_x

    def __init__(self, position, rotation):
        self.parameters = np.concatenate([[0.1], position, np.ravel(rotation)])
        self.duration = 0.5


def test_a_user_defined_path_names_its_compiled_function():
    np.testing.assert_allclose(AlongX(np.zeros(3), np.eye(3)).pose(2.0).position, [0.2, 0.0, 0.0])
    np.testing.assert_allclose(
        AlongX(np.zeros(3), np.eye(3)).twist(2.0), [0.1, 0.0, 0.0, 0.0, 0.0, 0.0]
    )


def test_a_follower_follows_paths_of_different_functions():
    pa10 = md.load_robot("pa10")
    q = np.array([0.3, 0.5, -0.2, 1.2, 0.4, 0.7, 0.1])
    start = tool_pose(pa10, q)
    path = AlongX(*start)
    assert md.track(pa10, path, step=0.05, q0=q).success
    line = md.Line(start, (start.position + np.array([0.0, 0.05, 0.0]), start.rotation))
    follower = md.PathFollower(pa10, path, q, 0.05)
    follower.follow(line, q)
    follower.run(10)
    expected = md.PathFollower(pa10, line, q, 0.05)
    expected.run(10)
    np.testing.assert_array_equal(follower.sample().q, expected.sample().q)


def test_errors_of_user_defined_paths_are_reported():
    pa10 = md.load_robot("pa10")
    q = np.full(7, 0.4)
    path = AlongX(*tool_pose(pa10, q))
    path.function = ending
    with pytest.raises(ValueError, match="the path ends"):
        md.track(pa10, path, q0=q)
    path.function = returning
    with pytest.raises(md.ManipDynError, match="must return nothing"):
        md.track(pa10, path, q0=q)
    path.function = along_x.py_func
    with pytest.raises(md.ManipDynError, match="must be compiled by numba"):
        md.track(pa10, path, q0=q)
