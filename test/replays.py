"""Oracle for plans: pinocchio's dynamics with free joints, integrated by SciPy's DOP853."""

import itertools

import numpy as np
from scipy.integrate import solve_ivp

from manip_dyn.robot import Oracle


def replay(robot, plan, tolerance=1e-12):
    """Return position and velocity errors (n,) at the end of a plan under its efforts alone."""
    reference, n = Oracle(robot), robot.n
    jumps = [0.0, *(t for times in plan.switch_times for t in times), *plan.arrival_times]
    edges = plan.knots if hasattr(plan.motion, "parameter") else np.array(jumps)
    edges = np.unique(edges)
    y = np.concatenate([plan.q0, np.zeros(n)])

    def rates(t, y):
        # at the end of an interval the effort is that before the jump
        tau = plan.effort(min(t, last))
        return np.concatenate([y[n:], reference.forward_dynamics(y[:n], y[n:], tau)])

    for begin, end in itertools.pairwise(edges):
        last = np.nextafter(end, 0.0)
        run = solve_ivp(rates, (begin, end), y, method="DOP853", rtol=tolerance, atol=tolerance)
        y = run.y[:, -1]
    return y[:n] - plan.qf, y[n:]


def check(robot, plan, tolerance=1e-12, miss=1e-7):
    """Check the properties of every plan."""
    q, v = replay(robot, plan, tolerance)
    assert np.abs(q).max() < miss
    assert np.abs(v).max() < miss
    times = np.linspace(0.0, 1.1 * plan.t_final, 300)
    q, v, effort = plan.at(times)
    assert np.all(np.abs(effort) <= robot.tau_max * (1.0 + 1e-9))
    assert np.all(np.abs(v) <= robot.v_max * (1.0 + 1e-6))
    assert np.all((q >= robot.q_min - 1e-6) & (q <= robot.q_max + 1e-6))
    for k in range(0, 300, 23):
        np.testing.assert_array_equal([q[k], v[k]], plan.state(times[k]))
        np.testing.assert_array_equal(effort[k], plan.effort(times[k]))
    assert np.abs(plan.net_work).max() <= 1e-6 * plan.peak_work
