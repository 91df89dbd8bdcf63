"""Drake with the same URDF, where it is installed."""

from __future__ import annotations

import logging
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.inspection.comparison.reading import Joint, Reading
from manip_dyn.inspection.parts.stated import Mass
from manip_dyn.robot import Robot
from manip_dyn.robot.bare import without_shapes


class DrakePeer:
    """Drake's MultibodyPlant in continuous time, the base welded to the world."""

    name = "Drake"
    whole = False

    def __init__(self, robot: Robot):
        """Let Drake read the robot's URDF.

        Raises:
            RuntimeError: If Drake refuses it.
        """
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant
        from pydrake.multibody.tree import MultibodyForces

        logging.getLogger("drake").setLevel(logging.ERROR)
        self._plant: Any = MultibodyPlant(time_step=0.0)
        text = ElementTree.tostring(without_shapes(robot.urdf), encoding="unicode")
        Parser(self._plant).AddModelsFromString(text, "urdf")
        base = self._plant.GetFrameByName(robot.base)
        if base.name() != "world":
            self._plant.WeldFrames(self._plant.world_frame(), base)
        self._plant.Finalize()
        self._context = self._plant.CreateDefaultContext()
        self._forces = MultibodyForces(self._plant)
        joints = [self._plant.GetJointByName(name) for name in robot.joint_names]
        self._q = np.array([joint.position_start() for joint in joints])
        self._v = np.array([joint.velocity_start() for joint in joints])
        names = [name for name in _links(robot) if self._plant.HasBodyNamed(name)]
        links = {name: _mass(self._plant.GetBodyByName(name)) for name in names}
        gravity = self._plant.gravity_field().gravity_vector()
        self.reading = Reading(links, self._joints(robot, joints), gravity)

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""
        self._set(q, np.zeros_like(q))
        return self._plant.CalcMassMatrix(self._context)[np.ix_(self._v, self._v)]

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,), damping included."""
        self._set(q, v)
        wanted = np.zeros(self._plant.num_velocities())
        wanted[self._v] = a
        self._plant.CalcForceElementsContribution(self._context, self._forces)
        efforts = self._plant.CalcInverseDynamics(self._context, wanted, self._forces)
        return efforts[self._v]

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,)."""
        efforts = np.zeros(self._plant.num_velocities())
        efforts[self._v] = tau
        port = self._plant.get_applied_generalized_force_input_port()
        port.FixValue(self._context, efforts)
        self._set(q, v)
        rates = self._plant.AllocateTimeDerivatives()
        self._plant.CalcTimeDerivatives(self._context, rates)
        return rates.CopyToVector()[self._plant.num_positions() :][self._v]

    def pose(self, link: str, q: Vector) -> Matrix:
        """Return the pose of a link in the base frame (4, 4)."""
        self._set(q, np.zeros_like(q))
        body = self._plant.GetBodyByName(link)
        return self._plant.EvalBodyPoseInWorld(self._context, body).GetAsMatrix4()

    def _set(self, q: Vector, v: Vector) -> None:
        positions, velocities = (np.zeros(self._plant.num_velocities()) for _ in range(2))
        positions[self._q], velocities[self._v] = q, v
        self._plant.SetPositions(self._context, positions)
        self._plant.SetVelocities(self._context, velocities)

    def _joints(self, robot: Robot, joints: list[Any]) -> dict[str, Joint]:
        rotors: dict[str, float] = {}
        for index in self._plant.GetJointActuatorIndices():
            actuator = self._plant.get_joint_actuator(index)
            inertia = actuator.default_rotor_inertia() * actuator.default_gear_ratio() ** 2
            name = actuator.joint().name()
            rotors[name] = rotors.get(name, 0.0) + inertia
        return {
            name: Joint(float(joint.default_damping()), 0.0, rotors.get(name, 0.0), 0.0)
            for name, joint in zip(robot.joint_names, joints, strict=True)
        }


def _links(robot: Robot) -> list[str]:
    return [link.get("name", "") for link in ElementTree.fromstring(robot.urdf).findall("link")]


def _mass(body: Any) -> Mass:
    spatial = body.default_spatial_inertia()
    mass, com = float(spatial.get_mass()), np.array(spatial.get_com())
    about_origin = spatial.CalcRotationalInertia().CopyToFullMatrix3()
    inertia = about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))
    return Mass(mass, com, inertia)
