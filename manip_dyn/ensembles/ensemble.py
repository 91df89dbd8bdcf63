"""`Ensemble`: the result of many simulations, as arrays over motion, time and joint."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from manip_dyn.core.checks import Matrix, Tensor, Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.imports import required_module
from manip_dyn.core.results import Statistics
from manip_dyn.integration import Status
from manip_dyn.robot import Robot
from manip_dyn.simulation.simulation import ADVICE
from manip_dyn.simulation.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class OverTime:
    """Statistics (N, n) of each motion over time, evaluated at its start and after every step.

    Attributes:
        q_mean, q_min, q_max: Positions, rad or m. Means are computed by the trapezoidal rule.
        v_mean, v_min, v_max: Velocities, rad/s or m/s.
        tau_peak: Largest absolute efforts, N m or N.
    """

    q_mean: Matrix
    q_min: Matrix
    q_max: Matrix
    v_mean: Matrix
    v_min: Matrix
    v_max: Matrix
    tau_peak: Matrix


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """N motions of an arm with n joints, sampled at k times.

    The dimensions of the arrays are motion, time and joint, in this order. A motion that ends
    early has NaN in its remaining samples.

    Attributes:
        robot: The arm.
        t: Sample times (k,), s.
        q: Positions (N, k, n), rad or m.
        v: Velocities (N, k, n), rad/s or m/s.
        tau: Efforts (N, k, n) that act after each sample, N m or N.
        energy: Kinetic energy, potential energy, work and balance residual (N, k, 4), J.
        status: Final status of each motion (N,), values of `md.Status`.
        t_end: Final times (N,), s.
        q_end: Final positions (N, n), rad or m.
        v_end: Final velocities (N, n), rad/s or m/s.
        tau_end: Final efforts (N, n), N m or N.
        energy_end: Final energies (N, 4), J, in the order of `energy`.
        over_time: Means, extreme values and peak efforts of each motion.
        steps: Number of steps of each motion (N,).
        failures: Number of steps rejected by the error control (N,).
        evaluations: Number of evaluations of the dynamics, or of Taylor series (N,).
        limits_met: Position limit that ended each motion (N,): 2 i for the lower and 2 i + 1 for
            the upper limit of joint i, or -1; see `reason`.
        saturated: Flags (N, n) of joints whose effort was at its limit at the start or after any
            step, for laws that may exceed the limits.
    """

    robot: Robot
    t: Vector
    q: Tensor
    v: Tensor
    tau: Tensor
    energy: Tensor
    status: np.ndarray
    t_end: Vector
    q_end: Matrix
    v_end: Matrix
    tau_end: Matrix
    energy_end: Matrix
    over_time: OverTime
    steps: np.ndarray
    failures: np.ndarray
    evaluations: np.ndarray
    limits_met: np.ndarray
    saturated: np.ndarray

    def __len__(self) -> int:
        """Return the number of motions."""
        return len(self.status)

    def __repr__(self) -> str:
        """Return the number of motions with each status."""
        statuses = Counter(Status(status).name for status in self.status)
        counts = ", ".join(f"{count} {name}" for name, count in statuses.items())
        return f"Ensemble({len(self)} motions of '{self.robot.name}': {counts})"

    @property
    def success(self) -> np.ndarray:
        """Flags (N,) of the motions that were simulated for the whole duration."""
        return self.status == Status.SUCCESS

    @property
    def statistics(self) -> Statistics:
        """Steps (N,), failures (N,) and evaluations (N,) of the motions."""
        return Statistics(self.steps, self.failures, self.evaluations)

    @cached_property
    def reason(self) -> tuple[str, ...]:
        """Reason for the end of each motion, as N sentences."""
        return tuple(self._reason(i) for i in range(len(self)))

    def trajectory(self, motion: int) -> Trajectory:
        """Return the samples of one motion as a `Trajectory`, as returned by `md.simulate`.

        Args:
            motion: Index of the motion, from 0.

        Raises:
            ManipDynError: If `motion` is not a valid index.
        """
        if isinstance(motion, bool) or not isinstance(motion, (int, np.integer)):
            raise ManipDynError(f"motion must be a whole number, got {motion!r}.")
        if not 0 <= motion < len(self):
            raise ManipDynError(f"motion must be 0 to {len(self) - 1}, got {motion}.")
        i, reached = motion, np.isfinite(self.q[motion, :, 0])
        counts = int(self.steps[i]), int(self.failures[i]), int(self.evaluations[i])
        return Trajectory(
            self.t[reached],
            self.q[i][reached],
            self.v[i][reached],
            self.tau[i][reached],
            self.energy[i][reached],
            Status(self.status[i]),
            self._reason(i),
            Statistics(*counts),
            self.saturated[i] & (np.abs(self.tau[i][reached]) >= self.robot.tau_max),
        )

    def to_xarray(self) -> Any:
        """Return an `xarray.Dataset` with the dimensions motion, time, joint and part (of energy).

        Raises:
            ManipDynError: If xarray is not installed.
        """
        xarray = required_module("xarray", "to_xarray needs", "xarray")
        joints = ("motion", "joint")
        over_time = {name: (joints, value) for name, value in vars(self.over_time).items()}
        over_time["saturated"] = joints, self.saturated
        sampled = {
            name: (("motion", "time", "joint"), getattr(self, name)) for name in ("q", "v", "tau")
        }
        ends = {name: (joints, getattr(self, name)) for name in ("q_end", "v_end", "tau_end")}
        single = ("status", "success", "t_end", "steps", "failures", "evaluations")
        numbers = {name: (("motion",), getattr(self, name)) for name in single}
        energies = {
            "energy": (("motion", "time", "part"), self.energy),
            "energy_end": (("motion", "part"), self.energy_end),
        }
        return xarray.Dataset(
            sampled | over_time | ends | numbers | energies,
            coords={
                "time": self.t,
                "joint": list(self.robot.joint_names),
                "part": ["kinetic", "potential", "work", "residual"],
            },
        )

    def _reason(self, motion: int) -> str:
        status, t = Status(self.status[motion]), self.t_end[motion]
        if status is Status.SUCCESS:
            return "the whole duration was simulated"
        if status is Status.EVENT:
            joint, upper = divmod(int(self.limits_met[motion]), 2)
            side = "upper" if upper else "lower"
            name = self.robot.joint_names[joint]
            return f"joint '{name}' reached its {side} limit at {t:.6f} s"
        if status is Status.TOO_MANY_STEPS:
            return f"max_steps was reached at {t:.6f} s"
        return (
            f"the motion of '{self.robot.name}' diverged at {t:.6f} s ({status.meaning}); {ADVICE}"
        )
