"""Messages of moveit_msgs (Jazzy), or stand-ins with the same fields where it is not installed."""

from dataclasses import dataclass, field
from types import SimpleNamespace as Namespace

from geometry_msgs.msg import Pose
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_msgs.msg import Header

try:
    from moveit_msgs.msg import (
        AllowedCollisionEntry,
        AllowedCollisionMatrix,
        AttachedCollisionObject,
        CollisionObject,
        LinkPadding,
        LinkScale,
        PlanningScene,
    )
except ImportError:

    @dataclass
    class CollisionObject:
        """moveit_msgs/CollisionObject."""

        ADD, REMOVE, APPEND, MOVE = b"\0", b"\1", b"\2", b"\3"
        header: Header = field(default_factory=Header)
        pose: Pose = field(default_factory=Pose)
        id: str = ""
        primitives: list = field(default_factory=list)
        primitive_poses: list = field(default_factory=list)
        meshes: list = field(default_factory=list)
        mesh_poses: list = field(default_factory=list)
        planes: list = field(default_factory=list)
        plane_poses: list = field(default_factory=list)
        operation: bytes = b"\0"

    @dataclass
    class AttachedCollisionObject:
        """moveit_msgs/AttachedCollisionObject."""

        link_name: str = ""
        object: CollisionObject = field(default_factory=CollisionObject)
        touch_links: list = field(default_factory=list)
        weight: float = 0.0

    @dataclass
    class AllowedCollisionEntry:
        """moveit_msgs/AllowedCollisionEntry."""

        enabled: list = field(default_factory=list)

    @dataclass
    class AllowedCollisionMatrix:
        """moveit_msgs/AllowedCollisionMatrix."""

        entry_names: list = field(default_factory=list)
        entry_values: list = field(default_factory=list)
        default_entry_names: list = field(default_factory=list)
        default_entry_values: list = field(default_factory=list)

    @dataclass
    class LinkPadding:
        """moveit_msgs/LinkPadding."""

        link_name: str = ""
        padding: float = 0.0

    @dataclass
    class LinkScale:
        """moveit_msgs/LinkScale."""

        link_name: str = ""
        scale: float = 0.0

    @dataclass
    class RobotState:
        """moveit_msgs/RobotState."""

        joint_state: JointState = field(default_factory=JointState)
        multi_dof_joint_state: MultiDOFJointState = field(default_factory=MultiDOFJointState)
        attached_collision_objects: list = field(default_factory=list)
        is_diff: bool = False

    @dataclass
    class PlanningScene:
        """moveit_msgs/PlanningScene."""

        robot_state: RobotState = field(default_factory=RobotState)
        fixed_frame_transforms: list = field(default_factory=list)
        allowed_collision_matrix: AllowedCollisionMatrix = field(
            default_factory=AllowedCollisionMatrix
        )
        link_padding: list = field(default_factory=list)
        link_scale: list = field(default_factory=list)
        world: Namespace = field(
            default_factory=lambda: Namespace(
                collision_objects=[], octomap=Namespace(octomap=Namespace(id="", data=[]))
            )
        )
        is_diff: bool = False


def scene_message(objects=(), attached=(), is_diff=True, **fields):
    """Return a PlanningScene with collision objects and attached collision objects."""
    message = PlanningScene(is_diff=is_diff, **fields)
    message.robot_state.is_diff = is_diff
    message.robot_state.attached_collision_objects = list(attached)
    message.world.collision_objects = list(objects)
    return message


def allowed_matrix(names, pairs, defaults=()):
    """Return a matrix that allows collisions of pairs of names, and of the names in `defaults`."""
    rows = [[{a, b} in pairs for b in names] for a in names]
    return AllowedCollisionMatrix(
        entry_names=list(names),
        entry_values=[AllowedCollisionEntry(enabled=row) for row in rows],
        default_entry_names=list(defaults),
        default_entry_values=[True] * len(defaults),
    )
