"""Control laws of an arm: efforts from its measured state and what is wanted of it."""

from manip_dyn.control.brake import Brake
from manip_dyn.control.computed_torque import ComputedTorque, JointMotion
from manip_dyn.control.joint_drive import JointDrive
from manip_dyn.control.joint_references import References

__all__ = ["Brake", "ComputedTorque", "JointDrive", "JointMotion", "References"]
