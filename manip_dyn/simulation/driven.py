"""The effort law of what joints are told."""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen import Kernels
from manip_dyn.control.joint_drive import JointDrive
from manip_dyn.control.joint_references import References
from manip_dyn.core.checks import Vector
from manip_dyn.simulation.laws.effort_laws import EffortLaw, held


def driven(
    kernels: Kernels, told: References, q: Vector, law: EffortLaw, bandwidth: float
) -> EffortLaw:
    """Return the efforts by which an arm at q (n,) does what it is told.

    Joints that are told nothing hold the position that they were told last, if `law` is that of a
    drive which has one, else where they are.

    Args:
        kernels: The arm.
        told: What its joints are told now.
        q: Where they are (n,).
        law: What acted so far.
        bandwidth: Of the drives, 1/s.
    """
    if not np.isnan(told.effort).any():
        return held(kernels.robot, told.effort)
    if isinstance(law, JointDrive):
        last = law.references.position
        q = np.where(np.isnan(last), q, last)
    return JointDrive(kernels, told.held_at(q), bandwidth)
