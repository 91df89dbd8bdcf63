"""A reference for dry friction: integrator of SciPy, dynamics of pinocchio, all modes."""

from itertools import product

import numpy as np
from scipy.integrate import solve_ivp

from manip_dyn.robot import Oracle


class Reference:
    """The motion of a robot under constant efforts, from transition to transition."""

    def __init__(self, robot):
        self.robot, self.oracle = robot, Oracle(robot)

    def sliding(self, v, mode):
        robot = self.robot
        ratio = v / np.where(robot.stribeck_velocity > 0.0, robot.stribeck_velocity, np.inf)
        extra = robot.static_friction - robot.coulomb_friction
        extra = np.where(robot.stribeck_velocity > 0.0, extra * np.exp(-(ratio**2)), 0.0)
        return mode * (robot.coulomb_friction + extra)

    def accelerations(self, q, v, tau, mode):
        """Return accelerations, and the friction of the joints with mode 0."""
        mass = self.oracle.mass_matrix(q)
        left = tau - self.oracle.inverse_dynamics(q, v, 0.0 * q) - self.sliding(v, mode)
        slides, a = np.flatnonzero(mode), np.zeros_like(q)
        a[slides] = np.linalg.solve(mass[np.ix_(slides, slides)], left[slides])
        return a, np.where(mode == 0, left - mass @ a, 0.0)

    def modes(self, q, v, tau, broken):
        """Return the only modes that are consistent with their accelerations.

        `broken` are the directions of joints that have just broken away, 0 for other joints.
        """
        consistent = []
        signs = np.sign(np.where(v == 0.0, broken, v))
        choices = [(sign,) if sign else (-1.0, 0.0, 1.0) for sign in signs]
        for mode in map(np.array, product(*choices)):
            a, held = self.accelerations(q, v, tau, mode)
            rest = (v == 0.0) & (broken == 0.0)
            holds = np.abs(held) <= self.robot.static_friction * (1.0 + 1e-12)
            if np.all(np.where(mode == 0.0, holds, ~rest | (a * mode > 0.0))):
                consistent.append(mode)
        assert len(consistent) == 1
        return consistent[0]

    def run(self, q, v, tau, duration):
        """Return time, state and modes of each interval between transitions."""
        n, t, y, intervals = len(q), 0.0, np.concatenate([q, v]), []
        broken = np.zeros(n)
        while t < duration:
            mode = self.modes(y[:n], y[n:], tau, broken)

            def rates(_t, y, mode=mode):
                return np.concatenate([y[n:], self.accelerations(y[:n], y[n:], tau, mode)[0]])

            def left(_t, y, i, mode=mode):
                if mode[i]:
                    return mode[i] * y[n + i] + 1e-13
                held = self.accelerations(y[:n], y[n:], tau, mode)[1][i]
                return self.robot.static_friction[i] * (1.0 + 1e-12) - abs(held)

            events = [lambda t, y, i=i, left=left: left(t, y, i) for i in range(n)]
            for event in events:
                event.terminal, event.direction = True, -1
            span = (t, duration)
            solution = solve_ivp(rates, span, y, "DOP853", rtol=1e-12, atol=1e-12, events=events)
            t, y = solution.t[-1], solution.y[:, -1]
            held, broken = self.accelerations(y[:n], y[n:], tau, mode)[1], np.zeros(n)
            for i in range(n):
                if len(solution.t_events[i]) and mode[i]:
                    y[n + i] = 0.0
                elif len(solution.t_events[i]):
                    broken[i] = np.sign(held[i])
            intervals.append((t, y.copy(), mode))
        return intervals
