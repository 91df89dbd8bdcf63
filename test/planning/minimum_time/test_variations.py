"""Certified motions of the tables of Fan (2003) are faster than their variations."""

import itertools

import numpy as np
import pytest
from extremals import check

import manip_dyn as md
from manip_dyn.planning import TOLERANCES, locked_joint_engine, locked_joint_kernels
from manip_dyn.studies import fan2003, report

SETTINGS = report.read_settings("fan2003", fan2003.Settings)
NEEDLE, SHIFT = 1e-3, 3e-3
"""Width of a needle and displacement of a switch, as fractions of the duration."""
CELLS = 60
"""Number of constant efforts on a singular arc."""


@pytest.fixture(scope="module", params=SETTINGS.cases)
def plan(request):
    case = SETTINGS.cases[request.param]
    robot = fan2003.build_arm(case.arm, SETTINGS.arms[case.arm])
    return md.plan_minimum_time(robot, case.start, np.zeros(robot.n), budget=None)


class Variations:
    """Motions with the structure of a plan, other switching times, and a needle.

    A needle is a short interval in which one effort has the opposite sign.
    """

    def __init__(self, plan):
        self.plan, self.n = plan, plan.robot.n
        self.arcs = plan.switching.arcs()
        self.times = np.array([end for _, end, _ in self.arcs])
        self._engine = locked_joint_engine(self.n)
        self._kernels, self._space = (
            locked_joint_kernels(plan.robot),
            self._engine.space(**TOLERANCES),
        )

    def efforts(self, times, t):
        """Return the efforts (n,) at `t`; on a singular arc at the same fraction of the arc."""
        k = int(np.searchsorted(times[:-1], t, side="right"))
        begin, end, _ = self.arcs[k]
        fraction = (t - (times[k - 1] if k else 0.0)) / (times[k] - (times[k - 1] if k else 0.0))
        return self.plan.effort(begin + fraction * (end - begin))

    def end(self, times, needle=None):
        """Return the final state relative to rest at the goal (2 n,)."""
        edges = [0.0, *times] if needle is None else sorted([0.0, *times, *needle[1:]])
        for k, (_, _, controls) in enumerate(self.arcs):
            if any(control.is_singular for control in controls):
                begin = times[k - 1] if k else 0.0
                edges = sorted({*edges, *np.linspace(begin, times[k], CELLS).tolist()})
        y = np.concatenate([self.plan.q0, np.zeros(self.n)])
        for begin, end in itertools.pairwise(edges):
            middle = 0.5 * (begin + end)
            tau = self.efforts(times, middle)
            if needle is not None and needle[1] < middle < needle[2]:
                tau[needle[0]] *= -1.0
            if end > begin:
                drive = np.concatenate([tau, np.ones(self.n)])
                self._engine.run(begin, end, (self._kernels, drive), y, self._space)
        return y - np.concatenate([self.plan.qf, np.zeros(self.n)])

    def arriving(self, times, needle=None, fixed=None):
        """Return times near `times` with which the motion arrives, or None.

        All times except the one with index `fixed` may change.
        """
        times, free = times.copy(), [k for k in range(len(times)) if k != fixed]
        for _ in range(12):
            miss = self.end(times, needle)
            if np.abs(miss).max() < 1e-10:
                return times
            columns = []
            for k in free:
                there = times.copy()
                there[k] += 1e-7 * times[-1]
                columns.append((self.end(there, needle) - miss) / (1e-7 * times[-1]))
            times[free] -= np.linalg.lstsq(np.array(columns).T, miss, rcond=None)[0]
        return None


def test_independent_integration_ends_at_the_goal(plan):
    check(plan)


def test_no_needle_variation_is_faster(plan):
    """The final time grows by the switching function, to first order."""
    near, robot = Variations(plan), plan.robot
    times = near.arriving(near.times)
    width = NEEDLE * plan.t_final
    for begin, end, controls in near.arcs:
        middle = 0.5 * (begin + end)
        for joint in range(robot.n):
            if not controls[joint].is_full or end - begin < 3.0 * width:
                continue
            needle = (joint, middle - 0.5 * width, middle + 0.5 * width)
            varied = near.arriving(times, needle)
            q, _ = plan.state(middle)
            costate = plan.costate(middle)[robot.n :]
            slope = np.linalg.solve(md.customize(robot).mass_matrix(q), costate)[joint]
            assert slope * controls[joint].direction < 0.0
            lost = varied[-1] - times[-1]
            assert lost == pytest.approx(2.0 * robot.tau_max[joint] * abs(slope) * width, rel=0.1)


def test_no_displaced_switch_is_faster(plan):
    """The other switches compensate, or no variation of the structure arrives."""
    near, n = Variations(plan), plan.robot.n
    if len(near.times) <= 2 * n:
        slopes = _slopes(near)
        tol = 1e-6 * np.linalg.norm(slopes, 2)
        assert np.linalg.matrix_rank(slopes, tol) == len(near.times)
        return
    times, arrived = near.arriving(near.times), 0
    for k in range(len(times) - 1):
        for step in (-SHIFT, SHIFT):
            moved = times.copy()
            moved[k] += step * plan.t_final
            varied = near.arriving(moved, fixed=k)
            if varied is not None:
                arrived += 1
                assert varied[-1] > times[-1]
    assert arrived >= (1 if plan.certificate.singular_arcs else 2 * (len(times) - 1))


def _slopes(near):
    base, step = near.end(near.times), 1e-6 * near.times[-1]
    rows = np.eye(len(near.times)) * step
    return np.array([(near.end(near.times + row) - base) / step for row in rows]).T
