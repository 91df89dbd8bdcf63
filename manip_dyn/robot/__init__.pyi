"""Robots from URDF: the immutable `Robot`, its loader, and pinocchio as the reference."""

from manip_dyn.robot.geometry import (
    LinkTree as LinkTree,
)
from manip_dyn.robot.geometry import (
    find_mesh as find_mesh,
)
from manip_dyn.robot.load import (
    load_kinematics as load_kinematics,
)
from manip_dyn.robot.load import (
    load_robot as load_robot,
)
from manip_dyn.robot.model import (
    Body as Body,
)
from manip_dyn.robot.model import (
    Frame as Frame,
)
from manip_dyn.robot.model import (
    Robot as Robot,
)
from manip_dyn.robot.pinocchio_model import (
    Oracle as Oracle,
)
from manip_dyn.robot.source import (
    lock_from as lock_from,
)
from manip_dyn.robot.source import (
    xacro_arguments_from as xacro_arguments_from,
)
from manip_dyn.robot.urdf import (
    check_inertia_tensor as check_inertia_tensor,
)
