"""Pinocchio's algorithms, by the oracle, on the numbers that its reader gave us."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.inspection.comparison.reading import Reading, joints_as_loaded
from manip_dyn.inspection.parts.stated import Mass
from manip_dyn.robot import Oracle, Robot
from manip_dyn.robot.tree import child_of, joints_of


class PinocchioPeer:
    """Pinocchio; damping and springs are added to its algorithms, which leave them out."""

    name = "pinocchio"
    whole = True

    def __init__(self, robot: Robot):
        """Take its model of the robot."""
        oracle = Oracle(robot)
        self.reading = Reading(_links(robot), joints_as_loaded(robot), robot.gravity)
        self.mass_matrix = oracle.mass_matrix
        self.inverse_dynamics = oracle.inverse_dynamics
        self.forward_dynamics = oracle.forward_dynamics
        self._oracle = oracle

    def pose(self, link: str, q: Vector) -> Matrix:
        """Return the pose of a link in the base frame (4, 4)."""
        return self._oracle.frame_pose(link, q)


def _links(robot: Robot) -> dict[str, Mass]:
    """Return the masses of the bodies in the frames of the links behind the joints."""
    joints = joints_of(ElementTree.fromstring(robot.urdf))
    links = {}
    for name, body in zip(robot.joint_names, robot.bodies, strict=True):
        link = child_of(joints[name])
        frame = robot.frame(link)
        back = frame.rotation.T
        mass = Mass(body.mass, body.com, body.inertia)
        links[link] = mass.seen(back, -back @ frame.translation)
    return links
