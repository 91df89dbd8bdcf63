"""Plans of every kind between fixed postures."""

from functools import cache

import manip_dyn as md

PA10 = ([0.0, 0.5, 0.0, 0.9, 0.0, 0.4, 0.0], [0.8, 0.9, 0.3, 1.3, -0.4, 0.9, 0.5])


GOALS = {
    "two joints, one held early": ("zero_net_work", "ibm7535", [0.76, 0.2618], [0.0, 0.0]),
    "straight path": ("zero_net_work", "ibm7535", [-1.18, -0.48], [2.06, -0.57]),
    "prismatic": ("zero_net_work", "cylindrical", [1.0, 0.2], [0.0, -0.1]),
    "gravity": ("zero_net_work", "rr", [0.5, 0.5], [1.0, 0.2]),
    "seven joints": ("zero_net_work", "pa10", *PA10),
    "three switches": ("minimum_time", "ibm7535", [0.76, 0.2618], [0.0, 0.0]),
    "singular arc": ("minimum_time", "cylindrical", [0.2, 0.3], [0.0, 0.0]),
}


@cache
def planned(name):
    method, robot, start, goal = GOALS[name]
    robot = md.load_robot(robot)
    return robot, getattr(md, f"plan_{method}")(robot, start, goal)
