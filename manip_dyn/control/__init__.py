"""Control laws of an arm: efforts from its measured state and what is wanted of it."""

from manip_dyn.control.computed_torque import ComputedTorque, JointMotion
from manip_dyn.control.joint_drives import Brake, JointDrive, References

__all__ = ["Brake", "ComputedTorque", "JointDrive", "JointMotion", "References"]
