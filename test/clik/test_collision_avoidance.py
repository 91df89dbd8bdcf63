"""Collision avoidance of the CLIK law: velocity dampers, null-space motions, blocked arms."""

import numpy as np
import pytest
from collision_cases import random_arm, random_scene

import manip_dyn as md
from manip_dyn.clik import ClikSettings, VelocitySolver, dexterous_posture, tool_pose


@pytest.fixture(scope="module")
def pa10():
    return md.load_robot("pa10")


def elbow_case(robot):
    """Return a start, a path, and a scene with a ball in the way of the elbow."""
    start = dexterous_posture(robot)
    pose = tool_pose(robot, start)
    end = pose.position + np.array([0.0, 0.35, -0.1])
    path = md.Line(pose, (end, pose.rotation), linear_speed=0.2)
    scene = md.Scene().add("ball", md.Sphere(0.08), position=[0.154, 0.385, 0.695])
    return start, path, scene


def test_redundant_arm_avoids_a_ball_in_its_null_space(pa10):
    start, path, scene = elbow_case(pa10)
    free = md.track(pa10, path, step=0.01, q0=start)
    assert md.check_motion(pa10, free, scene).clear is False
    result = md.track(pa10, path, step=0.01, q0=start, scene=scene)
    assert result.success, result.reason
    assert md.check_motion(pa10, result, scene).clear
    assert "link_3 avoided ball" in result.reason


def test_far_objects_change_nothing(pa10):
    start, path, _ = elbow_case(pa10)
    free = md.track(pa10, path, step=0.02, q0=start)
    scene = md.Scene().add("far", md.Box([1.0, 1.0, 1.0]), position=[5.0, 0.0, 0.0])
    assert np.array_equal(md.track(pa10, path, step=0.02, q0=start, scene=scene).q, free.q)


def test_arm_leaves_its_path_in_front_of_a_ball(pa10):
    start, path, _ = elbow_case(pa10)
    blocked = tool_pose(pa10, start).position + np.array([0.0, 0.35, 0.0])
    scene = md.Scene().add("ball", md.Sphere(0.06), position=blocked)
    result = md.track(pa10, path, step=0.005, q0=start, scene=scene)
    assert not result.success
    assert "avoided ball" in result.reason
    check = md.check_motion(pa10, result, scene)
    assert check.clear, check.reason


def test_velocities_satisfy_the_damper_of_the_closest_pair():
    rng = np.random.default_rng(4)
    robot = random_arm(rng, joints=6)
    settings, limited, step = ClikSettings(collision_gain=10.0, gain=5.0), 0, 1e-6
    for _ in range(20):
        scene = random_scene(rng)
        solver = VelocitySolver(robot, settings, step=1e-3, scene=scene)
        free = VelocitySolver(robot, settings, step=1e-3)
        for q in rng.uniform(-1.5, 1.5, (10, robot.n)):
            closest = md.clearance(robot, q, scene)
            excess = closest.distance - settings.collision_margin
            if not 0.0 < excess < 0.05:
                continue
            goal = tool_pose(robot, rng.uniform(-1.5, 1.5, robot.n))
            v = solver(q, goal).velocity
            after = md.clearance(robot, q + step * v, scene).distance
            assert after - closest.distance >= -10.0 * excess * step - 1e-4 * step - 2e-9
            limited += not np.allclose(v, free(q, goal).velocity)
    assert limited > 5


def test_pair_closer_than_the_margin_does_not_come_closer(pa10):
    start, path, scene = elbow_case(pa10)
    wide = ClikSettings(collision_margin=0.05)
    begin = md.clearance(pa10, start, scene).distance
    assert begin < 0.05
    result = md.track(pa10, path, step=0.01, q0=start, settings=wide, scene=scene)
    check = md.check_motion(pa10, result, scene)
    assert check.distance > begin - 1e-3


def test_repeated_objects_change_nothing(pa10):
    start, path, scene = elbow_case(pa10)
    repeated = scene
    for name in ("again", "third"):
        repeated = repeated.add(name, md.Sphere(0.08), position=[0.154, 0.385, 0.695])
    once, more = (md.track(pa10, path, step=0.01, q0=start, scene=s) for s in (scene, repeated))
    np.testing.assert_allclose(more.q, once.q, atol=1e-6)


def test_start_in_collision_is_rejected(pa10):
    start, path, scene = elbow_case(pa10)
    inside = scene.add("box", md.Box([0.1, 0.1, 0.1]), tool_pose(pa10, start).position)
    with pytest.raises(md.ManipDynError, match="initial position must be free of collisions"):
        md.track(pa10, path, q0=start, scene=inside)
    with pytest.raises(md.ManipDynError, match="reachable without collision"):
        md.track(pa10, path, scene=inside)


def test_a_follower_considers_a_new_scene_from_then_on(pa10):
    start, path, ball = elbow_case(pa10)
    rows = []
    for before in (None, md.Scene(), ball):
        follower = md.PathFollower(pa10, path, start, step=0.01, scene=before)
        follower.scene = ball
        rows.append(follower.run(200))
    np.testing.assert_array_equal(rows[0], rows[2])
    np.testing.assert_array_equal(rows[1], rows[2])
    assert follower.avoided[1] == ("link_3", "ball")
    assert follower.scene is ball
