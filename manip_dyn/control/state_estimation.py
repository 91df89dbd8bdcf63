"""Joint states from measurements: merging, estimated velocities and measured noise."""

from __future__ import annotations

import math
from collections import deque
from typing import NamedTuple

import numpy as np

from manip_dyn.control.continuity import JUMP, LONG_GAP, MeasuredState
from manip_dyn.core.checks import Vector, not_negative
from manip_dyn.robot import Robot

VELOCITY_WINDOW = 0.01
"""Default time over which missing velocities are averaged, s."""
HISTORY = 64
"""Largest number of states from which the noise is estimated."""
LEAST_HISTORY = 16
"""Number of states below which no noise is assumed."""
SIGMAS = 4.0
"""Number of standard deviations that noise rarely exceeds."""
FASTEST_REST = 0.5
"""Largest measured speed of an arm at rest, rad/s or m/s: faster noise counts as motion."""
TRIMMED_MEAN = 0.6786
"""Mean of -e_k e_(k+1) for white noise of variance 1, where e_k is the deviation of value k from
the line through both neighbours, without the smallest and the largest tenth of these products."""


class Noise(NamedTuple):
    """Standard deviations of the noise of measured states.

    Attributes:
        position: Standard deviations of the positions (n,), rad or m.
        velocity: Standard deviations of the velocities (n,), rad/s or m/s.
    """

    position: Vector
    velocity: Vector


class StateEstimator:
    """Builds measured states of an arm from measurements of some or all of its joints.

    A state is complete when every joint has a value that was added after the last complete state.
    Its stamp is the latest stamp of these values. Positions with an earlier stamp are extrapolated
    to this stamp with their velocities. A measurement of all joints with velocities is a complete
    state, and its numbers do not change.

    A missing velocity is the slope of the least-squares line through the positions of the last
    `velocity_window` seconds, at least through the last two. With m evenly spaced positions over a
    time T, its delay is T / 2. Its noise is that of the positions times sqrt(12 / m) / T for large
    m. The first measurement of a joint, and the first one after a gap or a jump, yields no
    velocity. The velocity is zero if this measurement is repeated with the same stamp.

    Attributes:
        velocity_window: Time over which missing velocities are averaged, s.
        velocity_delay: Largest delay of the velocities in the last complete state, s; 0 if all
            velocities are measured.
        incomplete: Number of measurements since the last complete state.
    """

    def __init__(self, robot: Robot, velocity_window: float = VELOCITY_WINDOW):
        """Start without measurements.

        Args:
            robot: The arm.
            velocity_window: Time over which missing velocities are averaged, s.
        """
        self._robot = robot
        self.velocity_window = not_negative("velocity_window", velocity_window, "s")
        self._positions: dict[tuple[int, ...], deque[tuple[int, Vector]]] = {}
        self._stamps = np.zeros(robot.n, dtype=np.int64)
        self._q, self._v = np.zeros(robot.n), np.zeros(robot.n)
        self._fresh = np.zeros(robot.n, dtype=bool)
        self._delays, self._noise_gains = np.zeros(robot.n), np.zeros(robot.n)
        self._history: deque[MeasuredState] = deque(maxlen=HISTORY)
        self.velocity_delay, self.incomplete = 0.0, 0

    @property
    def missing(self) -> tuple[str, ...]:
        """Names of the joints without a value since the last complete state."""
        names = self._robot.joint_names
        return tuple(name for name, fresh in zip(names, self._fresh, strict=True) if not fresh)

    def add(
        self, stamp_ns: int, joints: tuple[int, ...], q: Vector, v: Vector | None = None
    ) -> MeasuredState | None:
        """Add a measurement; return the state if the measurement completes one, else None.

        Args:
            stamp_ns: Stamp, ns.
            joints: Indices of the k measured joints.
            q: Positions (k,), rad or m.
            v: Velocities (k,), rad/s or m/s. Default: estimated from the positions.
        """
        self.incomplete += 1
        indices = list(joints)
        if v is None:
            v = self._estimated(stamp_ns, joints, q)
            if v is None:
                return None
        else:
            self._delays[indices] = self._noise_gains[indices] = 0.0
        if len(joints) == self._robot.n:
            return self._completed(MeasuredState(stamp_ns, q, v))
        if (stamp_ns < self._stamps[indices]).any():
            # Time went back, so the values of the other joints are outdated.
            self._fresh[:], self._stamps[:] = False, np.iinfo(np.int64).min
        self._stamps[indices], self._fresh[indices] = stamp_ns, True
        self._q[indices], self._v[indices] = q, v
        if not self._fresh.all():
            return None
        stamp_ns = int(self._stamps.max())
        ages = 1e-9 * (stamp_ns - self._stamps)
        return self._completed(MeasuredState(stamp_ns, self._q + ages * self._v, self._v.copy()))

    def noise(self) -> Noise:
        """Return the noise of the last `HISTORY` states; zeros before there are `LEAST_HISTORY`.

        The noise of smooth motions is zero. White noise differs from them by the sign: successive
        deviations of a value from the line through both neighbours have opposite signs.
        """
        states = list(self._history)  # another thread may add states
        if len(states) < LEAST_HISTORY:
            return Noise(np.zeros(self._robot.n), np.zeros(self._robot.n))
        times = 1e-9 * np.array([state.stamp_ns - states[0].stamp_ns for state in states])
        position = white_noise(times, np.array([state.q for state in states]))
        velocity = white_noise(times, np.array([state.v for state in states]))
        return Noise(position, np.maximum(velocity, self._noise_gains * position))

    def at_rest(self, v: Vector, rest_speed: float) -> bool:
        """Return whether an arm with the latest measured velocities is at rest.

        It is at rest if no speed exceeds `rest_speed`. With noise, speeds up to `SIGMAS` standard
        deviations, at most `FASTEST_REST`, are also accepted. The mean velocities of the last
        m <= `HISTORY` states must then be within `rest_speed` or `SIGMAS` / sqrt(m) standard
        deviations.

        Args:
            v: Velocities (n,) of the latest complete state, rad/s or m/s.
            rest_speed: Largest speed at rest without noise, rad/s or m/s.
        """
        if float(np.abs(v).max()) <= rest_speed:
            return True
        noise = np.minimum(SIGMAS * self.noise().velocity, FASTEST_REST)
        if (np.abs(v) > np.maximum(rest_speed, noise)).any():
            return False
        speeds = [state.v for state in self._history]
        mean, noise = np.mean(speeds, axis=0), noise / math.sqrt(len(speeds))
        return bool((np.abs(mean) <= np.maximum(rest_speed, noise)).all())

    def _completed(self, state: MeasuredState) -> MeasuredState:
        self._fresh[:], self.incomplete = False, 0
        self.velocity_delay = float(self._delays.max())
        if self._history and state.stamp_ns < self._history[-1].stamp_ns:
            self._history.clear()
        if not self._history or state.stamp_ns > self._history[-1].stamp_ns:
            self._history.append(state)
        return state

    def _estimated(self, stamp_ns: int, joints: tuple[int, ...], q: Vector) -> Vector | None:
        """Return velocities (k,) from positions (k,), or None if there are not enough of them."""
        window = self._positions.setdefault(joints, deque())
        if window and self._is_interrupted(window[-1], stamp_ns, joints, q):
            window.clear()
        repeated = bool(window) and window[-1][0] == stamp_ns
        if repeated:
            window.pop()
        window.append((stamp_ns, q))
        while len(window) > 2 and window[0][0] < stamp_ns - 1e9 * self.velocity_window:
            window.popleft()
        if len(window) == 1:
            return np.zeros(len(joints)) if repeated else None
        times = 1e-9 * np.array([stamp - stamp_ns for stamp, _ in window])
        delay = -float(times.mean())
        times += delay
        spread = float(times @ times)
        indices = list(joints)
        self._delays[indices], self._noise_gains[indices] = delay, 1.0 / math.sqrt(spread)
        return times @ np.array([position - q for _, position in window]) / spread

    def _is_interrupted(
        self, last: tuple[int, Vector], stamp_ns: int, joints: tuple[int, ...], q: Vector
    ) -> bool:
        """Return whether time went back, or a gap or a jump follows the last positions (k,)."""
        duration = 1e-9 * (stamp_ns - last[0])
        if not 0.0 <= duration <= LONG_GAP:
            return True
        reach = 2.0 * self._robot.v_max[list(joints)] * duration if duration else 0.0
        return bool((np.abs(q - last[1]) > JUMP + reach).any())


def white_noise(times: Vector, values: Vector) -> Vector:
    """Return the standard deviation (n,) of white noise in values (k, n) at times (k,), s."""
    weights = ((times[2:] - times[1:-1]) / (times[2:] - times[:-2]))[:, None]
    deviations = values[1:-1] - weights * values[:-2] - (1.0 - weights) * values[2:]
    products = np.sort(-deviations[1:] * deviations[:-1], axis=0)
    trim = len(products) // 10
    mean = products[trim : len(products) - trim].mean(axis=0)
    return np.sqrt(np.maximum(mean, 0.0) / TRIMMED_MEAN)
