"""A motion some of whose joints are locked, by time: integrated from the nearest node."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.results import PickledByArguments
from manip_dyn.integration import Space
from manip_dyn.planning.locked_joints import TOLERANCES, kernels_of, locked_joint_engine
from manip_dyn.planning.plan import Samples, held_samples
from manip_dyn.planning.zero_net_work.replay import Nodes
from manip_dyn.robot import Robot


class LockedJointMotion(PickledByArguments):
    """Full efforts with one switch per joint, each joint locked from its arrival on."""

    def __init__(self, robot: Robot, nodes: Nodes, changes: Vector):
        """Keep the nodes of a proved motion and the times of its switches and arrivals, s."""
        self._n, self._nodes, self._changes = robot.n, nodes, changes
        self._engine = locked_joint_engine(robot.n)
        self._kernels = kernels_of(robot)
        self._efforts = customize(robot).in_place.locked_joint_efforts

    @property
    def knots(self) -> Vector:
        """Times from 0 to the arrival, s, between which the efforts are smooth."""
        return self._nodes.times

    def state(self, t: float) -> tuple[Vector, Vector]:
        """Return positions and velocities (n,) at time `t` s."""
        y, _ = self._at(t)
        return y[: self._n].copy(), y[self._n :].copy()

    def effort(self, t: float) -> Vector:
        """Return the efforts (n,) from time `t` s on."""
        return self._effort(*self._at(t))

    def at(self, times: Vector) -> tuple[Matrix, Matrix, Matrix]:
        """Return positions, velocities and efforts (k, n) at times (k,), s."""
        found = [self._at(t) for t in times.tolist()]
        states = np.array([y for y, _ in found]).reshape(-1, 2, self._n)
        return states[:, 0], states[:, 1], np.array([self._effort(*each) for each in found])

    def samples(self, period: float) -> Samples:
        """Return efforts every `period` s and from every switch and arrival on."""
        t_final = float(self._changes.max())
        times = {0.0, *np.arange(0.0, t_final, period).tolist(), *self._changes.tolist()}
        return held_samples(sorted(times - {t_final}), self.effort)

    def _effort(self, y: Vector, drive: Vector) -> Vector:
        effort = np.empty(self._n)
        self._efforts(y, drive, effort)
        return np.where(drive[self._n :] != 0.0, drive[: self._n], effort)

    @cached_property
    def _space(self) -> Space:
        return self._engine.space(**TOLERANCES)

    def _at(self, t: float) -> tuple[Vector, Vector]:
        """Return the state (2 n,) and what drives from then on (2 n,)."""
        nodes = self._nodes
        node = int(nodes.times.searchsorted(t, side="right")) - 1
        y, drive, begin = nodes.states[node].copy(), nodes.modes[node].copy(), nodes.times[node]
        if t > begin:
            self._engine.run(begin, t, (self._kernels, drive), y, self._space)
        return y, drive
