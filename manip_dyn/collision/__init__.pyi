"""Collision models, distances, and proofs that a motion is free of collisions."""

from manip_dyn.collision.curves import (
    HasJointCurve as HasJointCurve,
)
from manip_dyn.collision.curves import (
    JointCurve as JointCurve,
)
from manip_dyn.collision.curves import (
    constant_curve as constant_curve,
)
from manip_dyn.collision.curves import (
    hermite_curve as hermite_curve,
)
from manip_dyn.collision.curves import (
    interpolated_curve as interpolated_curve,
)
from manip_dyn.collision.curves import (
    polygon_curve as polygon_curve,
)
from manip_dyn.collision.curves import (
    polynomial_curve as polynomial_curve,
)
from manip_dyn.collision.curves import (
    sampled_curve as sampled_curve,
)
from manip_dyn.collision.model import (
    CollisionModel as CollisionModel,
)
from manip_dyn.collision.model import (
    Geometry as Geometry,
)
from manip_dyn.collision.model import (
    add_robot as add_robot,
)
from manip_dyn.collision.model import (
    collision_model as collision_model,
)
from manip_dyn.collision.motion_check import (
    Clearance as Clearance,
)
from manip_dyn.collision.motion_check import (
    check_motion as check_motion,
)
from manip_dyn.collision.motion_check import (
    clearance as clearance,
)
from manip_dyn.collision.motion_check import (
    joint_curve as joint_curve,
)
from manip_dyn.collision.posture_check import (
    PostureCheck as PostureCheck,
)
from manip_dyn.collision.scene import (
    Scene as Scene,
)
from manip_dyn.collision.scene import (
    SceneObject as SceneObject,
)
from manip_dyn.collision.scene import (
    load_scene as load_scene,
)
from manip_dyn.collision.shapes import (
    Box as Box,
)
from manip_dyn.collision.shapes import (
    Capsule as Capsule,
)
from manip_dyn.collision.shapes import (
    Cylinder as Cylinder,
)
from manip_dyn.collision.shapes import (
    HalfSpace as HalfSpace,
)
from manip_dyn.collision.shapes import (
    Mesh as Mesh,
)
from manip_dyn.collision.shapes import (
    Sphere as Sphere,
)
