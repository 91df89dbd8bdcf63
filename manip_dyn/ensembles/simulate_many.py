"""`simulate_many`: the same simulation from many states, with many parameters, side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Matrix, Vector, nanoseconds
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.arm_rows import ArmRows, arm_rows, series_of
from manip_dyn.ensembles.ensemble import Ensemble, OverTime
from manip_dyn.ensembles.lane_laws import LaneLaw, lane_law
from manip_dyn.ensembles.lane_method import LaneMethod, lane_method
from manip_dyn.ensembles.lanes import space
from manip_dyn.ensembles.lanes.law import SCHEDULE
from manip_dyn.ensembles.lanes.space import Cases, Kept, Rules
from manip_dyn.ensembles.rows import number_of_motions, rows_of
from manip_dyn.ensembles.running import checked_threads, run_all
from manip_dyn.integration import Method, StepControl
from manip_dyn.integration.methods.step_control import SUCCESS
from manip_dyn.planning.plan import Plan
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot
from manip_dyn.simulation.effort_laws import Schedule
from manip_dyn.simulation.function_law import Feedback
from manip_dyn.simulation.integrator import Integrator, checked_order
from manip_dyn.simulation.pd_control import PDControl

Law = ArrayLike | Schedule | Plan | PDControl | Feedback | Callable[..., Vector] | Sequence[Any]


def simulate_many(
    robot: Robot,
    q0: ArrayLike,
    v0: ArrayLike,
    effort: Law,
    duration: float,
    step: float = 1e-3,
    sample_period: float | None = None,
    *,
    method: str | Method = "rk4",
    rtol: float = 0.0,
    atol: float = 0.0,
    order: int | None = None,
    control: StepControl | None = None,
    stop_at_limits: bool = False,
    damping: ArrayLike | None = None,
    mass_scale: ArrayLike | None = None,
    payload: ArrayLike | None = None,
    parameters: ArrayLike | None = None,
    threads: int | None = None,
    taylor_order: int | None = None,
) -> Ensemble:
    """Simulate N motions of `robot`, eight side by side in SIMD lanes, on all cores.

    As `md.simulate` of each motion, to rounding: the same steps, with the same control, ended at
    the same switches. A motion is the same, bit for bit, whatever runs beside it, in any number of
    threads. One that fails is a row with a status and a reason, and disturbs no other.

    What is given once is for all motions; what is given with N rows differs from one to the next.

    Args:
        robot: The arm, without dry friction.
        q0: Initial positions (n,) or (N, n), rad or m.
        v0: Initial velocities (n,) or (N, n), rad/s or m/s.
        effort: Constant efforts (n,) or (N, n); a `Schedule`, a `Plan` (its efforts played back,
            held for a `step` where they change smoothly), or N of either; a `PDControl`; a
            function (t, q, v), or (t, q, v, p) with `parameters`, that numba compiles. Saturated
            at the effort limits.
        duration: s.
        step: Integration step, s, without tolerances.
        sample_period: Time between samples, s, on which steps end. Default: the duration, so that
            start and end are kept, and `over_time` of what is between.
        method: An explicit Runge-Kutta method of `md.METHODS`; or ``taylor`` with tolerances or an
            order, under efforts that are held from switch to switch and the robot's own damping.
        rtol: Relative tolerance, for methods with an error estimate; 0 with `atol` 0: fixed step.
        atol: Absolute tolerance, rad or m (and per s); 0 beside an rtol: the same number.
        order: Order of the method ``taylor``. Default: determined by the tolerances.
        control: Step control, with the default controller and norm.
        stop_at_limits: Whether a motion ends where a joint reaches a position limit.
        damping: Of the joints (n,) or (N, n), N m s/rad or N s/m, instead of the robot's.
        mass_scale: Factor of the masses and inertias of the links: a number for all, (n,) for
            the bodies that the joints move, or (N, n).
        payload: At the tool, (10,) or (N, 10), see `md.Kernels`.
        parameters: (k,) or (N, k), of a function (t, q, v, p).
        threads: Default: one for each core.
        taylor_order: Deprecated name of `order`.

    Raises:
        ManipDynError: If an argument is wrong; motions that fail raise nothing.
    """
    checked_robot(robot)
    if robot.rubs:
        raise ManipDynError(
            f"robot '{robot.name}' has dry friction, which many motions at once do not follow; "
            "expected a robot without it, or md.simulate"
        )
    order = checked_order(order, taylor_order)
    integrator = Integrator(method, step, rtol, atol, order, stop_at_limits, control)
    duration_ns = nanoseconds("duration", duration)
    period = duration if sample_period is None else sample_period
    period_ns = nanoseconds("sample_period", period)
    threads = checked_threads(threads)
    q, v = rows_of("q0", q0, robot.n), rows_of("v0", v0, robot.n)
    law = lane_law(robot, effort, step, parameters)
    arm = arm_rows(robot, damping, mass_scale, payload)
    counts = {"q0": len(q), "v0": len(v), **law.counts, **arm.counts}
    motions = number_of_motions(counts)
    _check_starts(robot, q)
    starts = np.concatenate([np.broadcast_to(x, (motions, robot.n)) for x in (q, v)], axis=1)
    cases = _cases(robot, starts, law, arm, stop_at_limits)
    numbers = lane_method(integrator, 2 * robot.n + 1)
    rules, fixed = _rules(robot, law, arm, numbers, duration_ns, period_ns), 0
    if integrator.series:
        rules, fixed = _of_series(robot, rules, arm)
    samples = -(-duration_ns // period_ns) + 1
    kept = run_all(cases, rules, numbers.method, samples, threads, fixed)
    t = np.minimum(np.arange(samples) * period_ns, duration_ns) * 1e-9
    return _ensemble(robot, t, kept, arm, law.cut_off)


def _check_starts(robot: Robot, q: Matrix) -> None:
    beyond = (q < robot.q_min) | (q > robot.q_max)
    if beyond.any():
        outside = np.flatnonzero(beyond.any(axis=1))
        first = int(outside[0])
        more = f" ({outside.size} motions are outside)" if outside.size > 1 else ""
        robot.check_within_limits(f"initial position of motion {first}{more},", q[first])


def _cases(
    robot: Robot, starts: Matrix, law: LaneLaw, arm: ArmRows, stop_at_limits: bool
) -> Cases:
    bounds = np.stack([robot.q_min, robot.q_max], axis=1)
    joints, sides = np.nonzero(np.isfinite(bounds) & stop_at_limits)
    signs = np.where(sides == 0, 1, -1)
    # Arrays of one kind, so that the time loop is compiled once, whatever was given.
    given = Cases(
        starts=starts,
        times_ns=law.times_ns,
        efforts=law.efforts,
        schedules=law.schedules,
        stiffness=law.stiffness,
        damping=law.damping,
        knots=law.references.knots,
        references=law.references.states,
        followed=law.references.ranges,
        friction=arm.friction,
        parameters=law.parameters,
        inertias=arm.inertias,
        limits=robot.tau_max,
        bounds=np.stack([joints, signs], axis=1),
        places=bounds[joints, sides],
    )
    return Cases(*(np.require(each, requirements=["C", "W"]) for each in given))


def _rules(
    robot: Robot,
    law: LaneLaw,
    arm: ArmRows,
    numbers: LaneMethod,
    duration_ns: int,
    period_ns: int,
) -> Rules:
    return Rules(
        joints=robot.n,
        law=law.law,
        timed=int(law.timed),
        damped=int(bool(np.any(arm.friction))),
        adaptive=int(numbers.adaptive),
        fsal=int(numbers.fsal),
        stages=numbers.stages,
        evaluations=len(numbers.method.live) - 1,
        power=numbers.power,
        duration_ns=duration_ns,
        period_ns=period_ns,
        loaded=int(arm.inertias.shape[1] > 0),
        width=0,
        motion=arm.motion,
        inverse_dynamics=arm.inverse_dynamics,
        function=law.function,
    )


def _of_series(robot: Robot, rules: Rules, arm: ArmRows) -> tuple[Rules, int]:
    """Return the rules of Taylor series, and the rows that these need once."""
    if rules.law != SCHEDULE:
        raise ManipDynError(
            "method is 'taylor' with efforts that depend on the state; expected efforts, "
            "schedules or plans, or a Runge-Kutta method such as rkdp87"
        )
    if rules.damped:
        raise ManipDynError(
            "method is 'taylor' with damping of each motion; expected a Runge-Kutta method such "
            "as rkdp87"
        )
    motion, series = series_of(robot, bool(rules.loaded))
    return rules._replace(motion=motion, width=series.width), series.fixed


def _ensemble(robot: Robot, t: Vector, kept: Kept, arm: ArmRows, cut_off: Any) -> Ensemble:
    n, ends = robot.n, kept.ends
    q, v = kept.states[:, :, :n], kept.states[:, :, n : 2 * n]
    sampled = arm.energy(kept.states)
    with np.errstate(all="ignore"):
        start = sampled[:, :1, 0] + sampled[:, :1, 1]
    energy = _balanced(sampled, kept.states[:, :, -1], start)
    energy_end = energy[:, -1]
    if np.any(ends[:, space.STATUS] != SUCCESS):  # whose last samples are missing
        final = arm.energy(kept.final[:, None])
        energy_end = _balanced(final, kept.final[:, None, -1], start)[:, 0]
    finite = np.argwhere(np.isfinite(np.stack([robot.q_min, robot.q_max], axis=1)))
    met = np.full(len(ends), -1)
    stopped = ends[:, space.STATUS] == 1
    met[stopped] = (finite @ [2, 1])[ends[stopped, space.MET]]
    mean, low, high = kept.mean, kept.low, kept.high
    positions, speeds = slice(0, n), slice(n, 2 * n)
    over_time = OverTime(
        q_mean=mean[:, positions],
        q_min=low[:, positions],
        q_max=high[:, positions],
        v_mean=mean[:, speeds],
        v_min=low[:, speeds],
        v_max=high[:, speeds],
        tau_peak=kept.peak,
    )
    return Ensemble(
        robot=robot,
        t=t,
        q=q,
        v=v,
        tau=kept.tau,
        energy=energy,
        status=ends[:, space.STATUS],
        t_end=ends[:, space.TIME_NS] * 1e-9,
        q_end=kept.final[:, positions],
        v_end=kept.final[:, speeds],
        tau_end=kept.final_tau,
        energy_end=energy_end,
        over_time=over_time,
        steps=ends[:, space.STEPS],
        failures=ends[:, space.FAILURES],
        evaluations=ends[:, space.EVALUATIONS],
        limits_met=met,
        saturated=cut_off & (kept.peak >= robot.tau_max),
    )


def _balanced(energies: Any, work: Any, start: Any) -> Any:
    """Return kinetic, potential, work and residual, (N, s, 4)."""
    with np.errstate(all="ignore"):  # of motions that diverged
        residual = energies[..., 0] + energies[..., 1] - start - work
    return np.stack([energies[..., 0], energies[..., 1], work, residual], axis=2)
