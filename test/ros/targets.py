"""Poses of the PA-10's tool, as messages and from joint positions, and a circle."""

from functools import cache

from geometry_msgs.msg import PoseStamped

import manip_dyn as md

START = [2.4785, 0.1249, -0.2709, 1.902, 0.9364, -2.3179, -1.6564]
"""Posture at the start of `CIRCLE`."""
CIRCLE = {
    "circle.center": [0.0, 0.4, 0.6],
    "circle.normal": [0.0, 1.0, 0.0],
    "circle.start": [-1.0, 0.0, 0.0],
    "circle.tool_rpy": [0.0, 0.7853981633974483, 0.0],
    "circle.linear_speed": 0.5,
    "circle.angular_speed": 2.0,
    "ramp": 0.3,
    "gain": 10.0,
}
"""Parameters of a tracker."""


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
