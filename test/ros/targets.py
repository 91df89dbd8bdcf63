"""Poses of the PA-10's tool, as messages and from joint positions."""

from functools import cache

from geometry_msgs.msg import PoseStamped

import manip_dyn as md


@cache
def kernels():
    return md.customize(md.load_robot("pa10"))


def tool(q):
    return kernels().forward_kinematics(q)[:3, 3]


def pose(position, quaternion=(0.0, 1.0, 0.0, 0.0), frame="base_link"):
    message = PoseStamped()
    message.header.frame_id = frame
    p, o = message.pose.position, message.pose.orientation
    p.x, p.y, p.z = map(float, position)
    o.x, o.y, o.z, o.w = map(float, quaternion)
    return message
