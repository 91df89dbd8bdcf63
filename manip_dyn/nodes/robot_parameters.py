"""The parameters that choose a robot, shared by every node."""

from __future__ import annotations

from manip_dyn.nodes.parameters import Parameter

ROBOT_PARAMETERS = (
    Parameter("robot", "pa10", "Name of a shipped robot or path of a URDF"),
    Parameter("lock", "", "Joints to hold fixed, as JOINT=POSITION, comma separated", "rad or m"),
    Parameter("tip", "", "Link whose frame is the tool; empty: tool0 or the last link"),
)
