"""Zero-net-work planning for one moving joint (Fan 2003, sections 4.1, 4.2, 6.4.1)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad

from manip_dyn.codegen import customize
from manip_dyn.errors import ManipDynError
from manip_dyn.planning.braking import BrakingCurve, Crossing
from manip_dyn.planning.joint_motion import JointMotion
from manip_dyn.planning.plan import Move, Plan
from manip_dyn.robot import Robot
from manip_dyn.validate import Vector, finite_vector

STILL = 1e-6
"""A joint whose start and goal differ by less (rad or m) is held at its goal."""


def plan_zero_net_work(robot: Robot, q0: ArrayLike, qf: ArrayLike) -> Plan:
    """Plan a rest-to-rest motion of one joint by bang-bang effort with one switch.

    The effort is +limit towards the goal until the switch, -limit until rest. The switch is
    where the net work of all efforts over the whole motion becomes zero (Fan 2003, eq. 4.47);
    the other joints are held where they are by the efforts that hold them (eq. 6.55).

    Args:
        robot: The arm.
        q0: Start (n,), rad or m, at rest.
        qf: Goal (n,), rad or m; it differs from `q0` in at most one joint.

    Raises:
        ManipDynError: If an argument is bad, several joints would have to move, a joint
            cannot start, brake or be held, or a speed limit would be passed.
    """
    start, goal = finite_vector("start", q0, robot.n), finite_vector("goal", qf, robot.n)
    robot.check_within_limits("start", start)
    robot.check_within_limits("goal", goal)
    moving = _moving_joint(robot, start, goal)
    if moving is None:
        return _standstill(robot, start, goal)
    _check_limit(robot, moving)
    motion = JointMotion(robot, moving, goal)
    curve = BrakingCurve(motion, start[moving], goal[moving])
    switch, accelerated = curve.meet(start[moving], 0.0)
    move = Move(curve, switch, accelerated)
    net_work = np.zeros(robot.n)
    net_work[moving] = _net_work(move, start[moving])
    plan = Plan(robot.joint_names, start, goal, move, net_work, hold_effort(robot, goal))
    _check_speed(robot, moving, switch)
    _check_held(robot, plan)
    return plan


def _net_work(move: Move, start: float) -> float:
    """Return the work of the joint's effort, load and damping over the motion, J."""
    curve, switch = move.curve, move.switch
    motion, goal = curve.motion, curve.goal
    actuator = curve.drive * (switch.position - start) + curve.brake * (goal - switch.position)
    load = quad(motion.load, start, goal, epsabs=1e-12, epsrel=1e-12)[0]
    lost = 0.0
    if motion.damping:
        before = quad(lambda t: move.accelerated(t)[1] ** 2, 0.0, switch.time, epsrel=1e-11)[0]
        braking = move.t_final - switch.time
        after = quad(lambda s: curve.state(s)[1] ** 2, 0.0, braking, epsrel=1e-11)[0]
        lost = motion.damping * (before + after)
    return float(actuator - load - lost)


def _standstill(robot: Robot, start: Vector, goal: Vector) -> Plan:
    hold = hold_effort(robot, goal)
    _check_effort(robot, hold)
    return Plan(robot.joint_names, start, goal, None, np.zeros(robot.n), hold)


def hold_effort(robot: Robot, q: Vector) -> Vector:
    """Return the efforts (n,) that keep the resting arm at `q` (n,)."""
    zero = np.zeros(robot.n)
    return customize(robot).unchecked.inverse_dynamics(q, zero, zero)


def _moving_joint(robot: Robot, start: Vector, goal: Vector) -> int | None:
    moving = np.flatnonzero(np.abs(goal - start) > STILL)
    if moving.size > 1:
        names = ", ".join(robot.joint_names[i] for i in moving)
        raise ManipDynError(
            f"the goal moves {moving.size} joints ({names}); expected one joint to move while "
            "the others are held"
        )
    return int(moving[0]) if moving.size else None


def _check_limit(robot: Robot, moving: int) -> None:
    limit = robot.tau_max[moving]
    if not 0.0 < limit < np.inf:
        raise ManipDynError(
            f"joint '{robot.joint_names[moving]}' has the effort limit {limit:g}; bang-bang "
            "control expects a finite one above 0"
        )


def _check_speed(robot: Robot, moving: int, crossing: Crossing) -> None:
    if abs(crossing.velocity) > robot.v_max[moving]:
        raise ManipDynError(
            f"joint '{robot.joint_names[moving]}' would reach {abs(crossing.velocity):.4g} "
            f"{robot.unit(moving)}/s; its limit is {robot.v_max[moving]:.4g}. "
            "Expected a nearer goal or a lower effort limit"
        )


def _check_held(robot: Robot, plan: Plan) -> None:
    """Refuse a plan whose held joints need more effort than they have, anywhere on the way."""
    edges = [0.0, plan.t_switch, np.nextafter(plan.t_switch, 0.0), plan.t_final]
    for t in [*edges, *np.linspace(0.0, plan.t_final, 201)]:
        _check_effort(robot, plan.torque(float(t)), f" at {t:.3f} s")


def _check_effort(robot: Robot, effort: Vector, when: str = "") -> None:
    for i in np.flatnonzero(np.abs(effort) > robot.tau_max * (1.0 + 1e-9)):
        raise ManipDynError(
            f"joint '{robot.joint_names[i]}' needs the effort {effort[i]:.4g} to be held{when}; "
            f"its limit is {robot.tau_max[i]:.4g}"
        )
