"""Pinocchio, MuJoCo and Drake as implementations of `readings.Peer`."""

from __future__ import annotations

import logging
import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.inspection.readings import Joint, Mass, Reading, joint_resistances
from manip_dyn.robot import Oracle, Robot
from manip_dyn.robot.geometry import without_shapes
from manip_dyn.robot.urdf import child_of, joints_of


class PinocchioPeer:
    """Peer for pinocchio. `Oracle` adds damping and springs, which pinocchio omits."""

    name = "pinocchio"
    merged = True

    def __init__(self, robot: Robot):
        """Use the pinocchio model of a robot."""
        oracle = Oracle(robot)
        self.reading = Reading(_pinocchio_links(robot), joint_resistances(robot), robot.gravity)
        self.mass_matrix = oracle.mass_matrix
        self.inverse_dynamics = oracle.inverse_dynamics
        self.forward_dynamics = oracle.forward_dynamics
        self._oracle = oracle

    def pose(self, link: str, q: Vector) -> Matrix:
        """Return the pose of a link in the base frame (4, 4)."""
        return self._oracle.frame_pose(link, q)


def _pinocchio_links(robot: Robot) -> dict[str, Mass]:
    """Return the mass distribution of each body in the frame of its joint's child link."""
    joints = joints_of(ElementTree.fromstring(robot.urdf))
    links = {}
    for coupling, body in zip(robot.couplings, robot.bodies, strict=True):
        link = child_of(joints[coupling.name])
        frame = robot.frame(link)
        inverse = frame.rotation.T
        mass = Mass(body.mass, body.com, body.inertia)
        links[link] = mass.transformed(inverse, -inverse @ frame.translation)
    return links


class MujocoPeer:
    """Peer for MuJoCo, with disabled constraints (limits, dry friction)."""

    name = "MuJoCo"
    merged = False

    def __init__(self, robot: Robot):
        """Load the URDF of the robot.

        Raises:
            ValueError: If MuJoCo rejects the URDF.
        """
        import mujoco

        root = without_shapes(robot.urdf)
        extension = root.find("mujoco")
        if extension is None:
            extension = ElementTree.SubElement(root, "mujoco")
        compiler = extension.find("compiler")
        if compiler is None:
            compiler = ElementTree.SubElement(extension, "compiler")
        compiler.set("fusestatic", "false")  # all links become bodies
        self._mj, self._model = (
            mujoco,
            _mujoco_model(mujoco, ElementTree.tostring(root, "unicode")),
        )
        self._model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
        self._data = mujoco.MjData(self._model)
        joints = [self._model.joint(name) for name in robot.joint_names]
        self._q = np.array([joint.qposadr[0] for joint in joints])
        self._v = np.array([joint.dofadr[0] for joint in joints])
        self.reading = Reading(self._links(), self._joints(robot), self._model.opt.gravity.copy())

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""
        self._set(q, np.zeros_like(q))
        self._mj.mj_forward(self._model, self._data)
        columns, column = [], np.zeros(self._model.nv)
        for unit in np.eye(self._model.nv)[self._v]:
            self._mj.mj_mulM(self._model, self._data, column, unit)
            columns.append(column[self._v])
        return np.array(columns)

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,), including damping."""
        self._set(q, v)
        self._data.qacc[self._v] = a
        self._mj.mj_inverse(self._model, self._data)
        return self._data.qfrc_inverse[self._v].copy()

    def forward_dynamics(self, q: Vector, v: Vector, tau: Vector) -> Vector:
        """Return the accelerations (n,)."""
        self._set(q, v)
        self._data.qfrc_applied[self._v] = tau
        self._mj.mj_forward(self._model, self._data)
        return self._data.qacc[self._v].copy()

    def pose(self, link: str, q: Vector) -> Matrix:
        """Return the pose of a link in the base frame (4, 4)."""
        pose = np.eye(4)
        if link in self.reading.links:  # the base is MuJoCo's world
            self._set(q, np.zeros_like(q))
            self._mj.mj_kinematics(self._model, self._data)
            body = self._data.body(link)
            pose[:3, :3], pose[:3, 3] = body.xmat.reshape(3, 3), body.xpos
        return pose

    def _set(self, q: Vector, v: Vector) -> None:
        self._data.qpos[self._q], self._data.qvel[self._v] = q, v

    def _links(self) -> dict[str, Mass]:
        model, rotation, links = self._model, np.empty(9), {}
        for i in range(1, model.nbody):
            self._mj.mju_quat2Mat(rotation, model.body_iquat[i])
            axes = rotation.reshape(3, 3)
            inertia = axes @ np.diag(model.body_inertia[i]) @ axes.T
            mass = Mass(float(model.body_mass[i]), model.body_ipos[i].copy(), inertia)
            links[model.body(i).name] = mass
        return links

    def _joints(self, robot: Robot) -> dict[str, Joint]:
        model, joints = self._model, {}
        for name, dof in zip(robot.joint_names, self._v, strict=True):
            numbers = (model.dof_damping, model.dof_frictionloss, model.dof_armature)
            damping, friction, armature = (float(values[dof]) for values in numbers)
            stiffness = float(model.jnt_stiffness[model.dof_jntid[dof]])
            joints[name] = Joint(damping, friction, armature, stiffness)
        return joints


def _mujoco_model(mujoco: Any, text: str) -> Any:
    """Load a URDF without warnings on the terminal or in a log file."""
    handler = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _message: None)
    try:
        return mujoco.MjModel.from_xml_string(text)
    finally:
        mujoco.set_mju_user_warning(handler)


class DrakePeer:
    """Peer for Drake: a MultibodyPlant in continuous time, with the base welded to the world."""

    name = "Drake"
    merged = False

    def __init__(self, robot: Robot):
        """Load the URDF of the robot.

        Raises:
            RuntimeError: If Drake rejects the URDF.
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
        names = [name for name in _drake_links(robot) if self._plant.HasBodyNamed(name)]
        links = {name: _drake_mass(self._plant.GetBodyByName(name)) for name in names}
        gravity = self._plant.gravity_field().gravity_vector()
        self.reading = Reading(links, self._joints(robot, joints), gravity)

    def mass_matrix(self, q: Vector) -> Matrix:
        """Return the joint-space inertia matrix (n, n)."""
        self._set(q, np.zeros_like(q))
        return self._plant.CalcMassMatrix(self._context)[np.ix_(self._v, self._v)]

    def inverse_dynamics(self, q: Vector, v: Vector, a: Vector) -> Vector:
        """Return the efforts (n,), including damping."""
        self._set(q, v)
        accelerations = np.zeros(self._plant.num_velocities())
        accelerations[self._v] = a
        self._plant.CalcForceElementsContribution(self._context, self._forces)
        efforts = self._plant.CalcInverseDynamics(self._context, accelerations, self._forces)
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


def _drake_links(robot: Robot) -> list[str]:
    return [link.get("name", "") for link in ElementTree.fromstring(robot.urdf).findall("link")]


def _drake_mass(body: Any) -> Mass:
    spatial = body.default_spatial_inertia()
    mass, com = float(spatial.get_mass()), np.array(spatial.get_com())
    about_origin = spatial.CalcRotationalInertia().CopyToFullMatrix3()
    inertia = about_origin - mass * (com @ com * np.eye(3) - np.outer(com, com))
    return Mass(mass, com, inertia)
