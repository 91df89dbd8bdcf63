"""How a motion from rest to rest went, measured from joint states alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.ros.monitors.samples import missed


@dataclass
class MotionLog:
    """A rest-to-rest motion: states at every control period.

    Attributes:
        goal: Goal (n,), rad or m.
        settled_ns: Stamp of the last state that was not settled.
        rest_speed: Speed below which the arm rests, rad/s or m/s.
        near: Position error of an arm that has settled, rad or m; its speed may be ten times
            that, per s.
    """

    goal: Vector
    rest_speed: float = 1e-6
    near: float = 1e-3
    settled_ns: int = field(default=0, init=False)
    _stamps: list[int] = field(default_factory=list)
    _states: list[Vector] = field(default_factory=list)

    def add(self, stamp_ns: int, q: Vector, v: Vector, effort: Vector) -> None:
        """Add a state; one that repeats the newest stamp is skipped."""
        if self._stamps and stamp_ns <= self._stamps[-1]:
            return
        if np.abs(q - self.goal).max() > self.near or np.abs(v).max() > 10.0 * self.near:
            self.settled_ns = stamp_ns
        self._stamps.append(stamp_ns)
        self._states.append(np.concatenate([q, v, effort]))

    @property
    def count(self) -> int:
        """Number of states."""
        return len(self._stamps)

    def digest(self) -> str:
        """Return the SHA-256 of all stamps and states, bit for bit."""
        rows = np.array(self._states)
        return hashlib.sha256(np.array(self._stamps).tobytes() + rows.tobytes()).hexdigest()

    def summary(self) -> dict[str, float]:
        """Return errors at the end and, where one joint moves, its switch and final time.

        The times count from the begin of the motion. They are where the velocity has its kinks,
        between samples: the lines through two samples before and two after a kink meet there.
        """
        n = len(self.goal)
        rows = np.array(self._states)
        t = (np.array(self._stamps) - self._stamps[0]) * 1e-9
        q, v = rows[:, :n], rows[:, n : 2 * n]
        summary = {
            "samples": len(t),
            "missed_samples": missed(t),
            "final_position_error": float(np.abs(q[-1] - self.goal).max()),
            "final_velocity": float(np.abs(v[-1]).max()),
        }
        joints = np.flatnonzero(np.abs(q[0] - self.goal) > 1e-6)
        return summary | (self._times(t, v[:, joints[0]]) if len(joints) == 1 else {})

    def _times(self, t: Vector, speed: Vector) -> dict[str, float]:
        began = self._kink(t, speed, int(np.argmax(np.abs(speed) > 0.0)) - 1)
        switch = self._kink(t, speed, int(np.argmax(np.abs(speed))))
        final = self._kink(t, speed, self._arrival(speed))
        return {"switch_time_s": switch - began, "final_time_s": final - began}

    def _arrival(self, speed: Vector) -> int:
        moving = np.flatnonzero(np.abs(speed) > self.rest_speed)
        return int(moving[-1]) if moving.size else 0

    @staticmethod
    def _kink(t: Vector, v: Vector, near: int) -> float:
        """Return the time of the velocity's kink in or beside the interval after `near`."""
        best, time = -1.0, float(t[max(near, 0)])
        for k in range(max(near - 2, 0), min(near + 2, len(t) - 2)):
            before = (v[k] - v[k - 1]) / (t[k] - t[k - 1]) if k > 0 else 0.0
            after = (v[k + 2] - v[k + 1]) / (t[k + 2] - t[k + 1])
            jump = after - before
            if abs(jump) > best:
                best = abs(jump)
                crossing = (v[k] - v[k + 1] + after * t[k + 1] - before * t[k]) / (jump or 1.0)
                time = float(np.clip(crossing, t[k], t[k + 1]))
        return time
