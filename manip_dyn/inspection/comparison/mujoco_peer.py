"""MuJoCo with the same URDF, where it is installed."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.inspection.comparison.reading import Joint, Reading
from manip_dyn.inspection.parts.stated import Mass
from manip_dyn.robot import Robot
from manip_dyn.robot.bare import without_shapes


class MujocoPeer:
    """MuJoCo's compiler and algorithms, its constraints (limits, dry friction) switched off."""

    name = "MuJoCo"
    whole = False

    def __init__(self, robot: Robot):
        """Let MuJoCo read the robot's URDF.

        Raises:
            ValueError: If MuJoCo refuses it.
        """
        import mujoco

        root = without_shapes(robot.urdf)
        extension = root.find("mujoco")
        if extension is None:
            extension = ElementTree.SubElement(root, "mujoco")
        compiler = extension.find("compiler")
        if compiler is None:
            compiler = ElementTree.SubElement(extension, "compiler")
        compiler.set("fusestatic", "false")  # so that all links are bodies
        self._mj, self._model = mujoco, _compiled(mujoco, ElementTree.tostring(root, "unicode"))
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
        """Return the efforts (n,), damping included."""
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
        if link in self.reading.links:  # the base is its world
            self._set(q, np.zeros_like(q))
            self._mj.mj_kinematics(self._model, self._data)
            body = self._data.body(link)
            pose[:3, :3], pose[:3, 3] = body.xmat.reshape(3, 3), body.xpos
        return pose

    def _set(self, q: Vector, v: Vector) -> None:
        self._data.qpos[self._q], self._data.qvel[self._v] = q, v

    def _links(self) -> dict[str, Mass]:
        model, turn, links = self._model, np.empty(9), {}
        for i in range(1, model.nbody):
            self._mj.mju_quat2Mat(turn, model.body_iquat[i])
            axes = turn.reshape(3, 3)
            inertia = axes @ np.diag(model.body_inertia[i]) @ axes.T
            mass = Mass(float(model.body_mass[i]), model.body_ipos[i].copy(), inertia)
            links[model.body(i).name] = mass
        return links

    def _joints(self, robot: Robot) -> dict[str, Joint]:
        model, found = self._model, {}
        for name, dof in zip(robot.joint_names, self._v, strict=True):
            numbers = (model.dof_damping, model.dof_frictionloss, model.dof_armature)
            damping, friction, armature = (float(each[dof]) for each in numbers)
            stiffness = float(model.jnt_stiffness[model.dof_jntid[dof]])
            found[name] = Joint(damping, friction, armature, stiffness)
        return found


def _compiled(mujoco: Any, text: str) -> Any:
    """Return the model of a URDF; warnings go neither to the screen nor into a file."""
    usual = mujoco.get_mju_user_warning()
    mujoco.set_mju_user_warning(lambda _sentence: None)
    try:
        return mujoco.MjModel.from_xml_string(text)
    finally:
        mujoco.set_mju_user_warning(usual)
