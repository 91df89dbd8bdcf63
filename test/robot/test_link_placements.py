"""Placements of links compose to the poses of pinocchio."""

import numpy as np
import pytest
from arms import EXAMPLES, SHIPPED, example, random_state
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.robot import LinkTree, Oracle, load_robot

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
def test_every_link_has_the_pose_of_pinocchio(name):
    robot = ROBOTS[name]()
    q = random_state(robot, RNG)[0]
    tree = LinkTree(robot)
    placements = [*tree.fixed, *tree.moving(q)]
    assert len({placement.child for placement in placements}) == len(placements)
    poses = {robot.base: np.eye(4)}
    while len(poses) <= len(placements):
        known_parents = [p for p in placements if p.parent in poses and p.child not in poses]
        assert known_parents, "the remaining links have no parent"
        for placement in known_parents:
            poses[placement.child] = poses[placement.parent] @ matrix(placement)
    for link, pose in poses.items():
        np.testing.assert_allclose(pose, Oracle(robot).frame_pose(link, q), atol=1e-9)


def test_movable_joints_are_not_among_the_fixed_placements():
    tree = LinkTree(md.load_robot("pa10"))
    assert len(tree.moving(np.zeros(7))) == 7
    assert all(placement.child != "link_1" for placement in tree.fixed)
