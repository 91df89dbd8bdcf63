"""Placements of links compose to the poses that pinocchio knows."""

import numpy as np
import pytest
from arms import EXAMPLES, SHIPPED, example, random_state
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.robot import Oracle, load_robot
from manip_dyn.robot.geometry import LinkTree

RNG = np.random.default_rng(14)
ROBOTS = {name: lambda name=name: load_robot(name) for name in SHIPPED}
ROBOTS |= {
    f"example {name}": lambda name=name: load_robot(example(EXAMPLES[name])) for name in EXAMPLES
}
ROBOTS["locked"] = lambda: load_robot("pa10", lock={"E1": 0.7, "S3": -0.4})


def matrix(placement):
    pose = np.eye(4)
    pose[:3, :3] = Rotation.from_quat(placement.quaternion).as_matrix()
    pose[:3, 3] = placement.position
    return pose


@pytest.mark.parametrize("name", ROBOTS)
def test_every_link_is_where_the_oracle_has_it(name):
    robot = ROBOTS[name]()
    q = random_state(robot, RNG)[0]
    tree = LinkTree(robot)
    placements = [*tree.fixed, *tree.moving(q)]
    assert len({each.child for each in placements}) == len(placements)
    poses = {robot.base: np.eye(4)}
    while len(poses) <= len(placements):
        found = [each for each in placements if each.parent in poses and each.child not in poses]
        assert found, "what remains hangs on nothing"
        for each in found:
            poses[each.child] = poses[each.parent] @ matrix(each)
    for link, pose in poses.items():
        np.testing.assert_allclose(pose, Oracle(robot).frame_pose(link, q), atol=1e-9)


def test_a_joint_that_moves_is_not_fixed():
    tree = LinkTree(md.load_robot("pa10"))
    assert len(tree.moving(np.zeros(7))) == 7
    assert all(each.child != "link_1" for each in tree.fixed)
