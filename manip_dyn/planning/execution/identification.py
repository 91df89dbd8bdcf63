"""Identification of delay, masses and friction from the first states of a motion.

The momentum balance over the periods from 0 to k of a recorded motion reads, for each joint::

    m sum of bodies h = sum of u(t - d) h - passive h - f sum of sign(v) h + c

u are the commands, d is their delay, m the mass ratio, f the dry friction, and c the error of the
first velocity. At the start of a motion, that velocity is known, and c is small. Otherwise a delay
would be mistaken for c. The noise of the velocities is that of the left side. For a given delay,
1 / m, f / m and c are linear coefficients with prior deviations (`momentum_regression`), and the
delay follows from the least residual among candidates. Under constant efforts from rest, masses
and friction cause the same motion. The prior deviations then divide the error between them.
Friction that holds a joint at rest is unknown within its limit. Such periods are omitted, or have
a separate friction if noise hides whether the joint moves.

The parameters change if the assumed ones are significantly less probable. The delay then changes
if another one is more probable, even if the masses alone could explain the motion.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.control.state_estimation import white_noise
from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.compiled import compiled
from manip_dyn.planning.execution.effort_model import EffortModel, inverse_rows
from manip_dyn.planning.execution.momentum_regression import PLAUSIBLE, Balance, fit
from manip_dyn.planning.execution.segments import MOST_SEGMENTS, Segment
from manip_dyn.robot import Robot

CAPACITY = 192
"""Number of recorded states."""
LEAST_STATES = 4
"""Minimum number of periods for an identification."""
RESOLUTION = 2.5e-4
"""Difference of the candidates of the delay, s."""
SPREAD, LATER_DEVIATION = 2.5e-3, 5e-4
"""Range and prior standard deviation of later corrections of an identified delay, s."""
IMPULSE = 1e-4
"""Error of the momentum balance due to the resolution of the delay, over the effort limit, s."""
EXACT_IMPULSE = 1e-5
"""Error of the momentum balance of a noise-free motion with a known delay, over the effort limit,
s."""
AVERAGED = 15
"""Number of states whose mean velocity shows the direction of a joint under noise."""
CREEP = 1e-3
"""Speed below which friction may be static, rad/s or m/s. Noise above it hides static friction."""
SURE = 3.0
"""Deviations of a mean velocity above which a joint certainly moves."""
WEAK = 0.1
"""Effort relative to the limit below which static friction may hold a joint."""
SIGNIFICANT = 25.0
"""Reduction of the residual (chi squared) from which a parameter is changed."""
SIGNIFICANT_DELAY = 9.0
"""Reduction of the residual from which the delay is changed, if a parameter must change."""
PROBABLE = 2.0
"""Deviations of the mass ratio for which a motion must be able to brake."""
NOISE_INTERVAL = 16
"""Number of states between estimates of the noise."""
LEAST_NOISE_STATES, LOUDER = 32, 2.0
"""Number of states from which noise is measured if it is known before the motion, and ratio of
the measured noise to the known one from which it replaces that."""
LONGEST_STEP = 1e-3
"""Longest step of a prediction, s."""
SAME = 1e-9
"""Difference below which times are equal, s."""


class Identified(NamedTuple):
    """Result of an identification.

    Attributes:
        delay: Delay of the commands, s.
        model: Masses and friction.
    """

    delay: float
    model: EffortModel


class Predicted(NamedTuple):
    """Predicted state, and the commanded efforts that act from then on.

    Attributes:
        offset: Time after the last measured state, s.
        q: Positions (n,), rad or m.
        v: Velocities (n,), rad/s or m/s.
        effort: Efforts (n,), N m or N.
    """

    offset: float
    q: Vector
    v: Vector
    effort: Vector


class MotionRecord:
    """Measured states and commands of the last periods.

    Attributes:
        count: Number of recorded states.
        noise: Standard deviations (2, n) of the noise of positions and velocities.
    """

    def __init__(
        self,
        robot: Robot,
        before: Vector,
        noise: Matrix | None = None,
        start: Vector | None = None,
    ):
        """Start without states.

        Args:
            robot: The arm.
            before: Efforts (n,) before the first command.
            noise: Least standard deviations (2, n) of the noise. Default: 0.
            start: Velocities (n,) before the first command. Default: at rest.
        """
        n = robot.n
        self._robot, self._before = robot, before
        self._start = np.zeros(n) if start is None else start
        self.count = 0
        self._times = np.zeros(CAPACITY)
        self._q, self._v = np.zeros((2, CAPACITY, n))
        self._offsets = np.full((CAPACITY, MOST_SEGMENTS), np.inf)
        self._efforts = np.zeros((CAPACITY, MOST_SEGMENTS, n))
        self._complete, self._delay_is_assumed, self._pending = True, True, False
        self._unbroken = 0  # first state after which only recorded commands have acted
        self._least = np.zeros((2, n)) if noise is None else noise
        self.noise = self._least

    def state(self, t: float, q: Vector, v: Vector) -> None:
        """Record a state (q, v) measured at time `t`, s. A repeated time replaces the last one."""
        if self.count and t <= self._times[self.count - 1] + SAME:
            self.count -= 1
        if self.count == CAPACITY:
            half = CAPACITY // 2
            for rows in (self._times, self._q, self._v, self._offsets, self._efforts):
                rows[:half] = rows[half:].copy()
            self.count, self._complete = CAPACITY - half, False
            self._unbroken = max(self._unbroken - half, 0)
        k = self.count
        self._times[k], self._q[k], self._v[k] = t, q, v
        self.count = k + 1
        if self.count % NOISE_INTERVAL == 0:
            self._measure_noise()

    def command(self, segments: list[Segment]) -> None:
        """Record the command for the last state."""
        k = self.count - 1
        self._offsets[k] = np.inf
        for i, (offset, effort) in enumerate(segments[:MOST_SEGMENTS]):
            self._offsets[k, i], self._efforts[k, i] = offset, effort

    @staticmethod
    def size_after(total: int) -> int:
        """Return the number of stored states after `total` states were recorded."""
        half = CAPACITY // 2
        return total if total <= CAPACITY else half + 1 + (total - CAPACITY - 1) % half

    def restore(
        self,
        total: int,
        times: Vector,
        q: Matrix,
        v: Matrix,
        offsets: Matrix,
        efforts: Any,
        counts: Vector,
    ) -> None:
        """Replace the record by the last of `total` states and their commands.

        Args:
            total: Number of states since the start.
            times: Times (k,), s, where k is `size_after(total)`.
            q: Positions (k, n), rad or m.
            v: Velocities (k, n), rad/s or m/s.
            offsets: Offsets of the segments of the commands (k, s), s.
            efforts: Efforts of the segments (k, s, n), N m or N.
            counts: Number of the segments (k,).
        """
        k, s = len(times), min(offsets.shape[1], MOST_SEGMENTS)
        self.count, self._complete, self._unbroken = k, total <= CAPACITY, 0
        self._times[:k], self._q[:k], self._v[:k] = times, q, v
        unused = np.arange(s) >= counts[:, None]
        self._offsets[:k, :s] = np.where(unused, np.inf, offsets[:, :s])
        self._efforts[:k, :s] = efforts[:, :s]

    def clear(self) -> None:
        """Remove all states."""
        self.count, self._complete, self._pending, self._unbroken = 0, False, False, 0

    def interrupt(self) -> None:
        """Exclude the period after the next state, because no command acts in it."""
        self._complete, self._pending, self._unbroken = False, False, self.count + 1

    def unexplained(
        self, delay: float, model: EffortModel, disturbance: Vector
    ) -> tuple[Vector, float] | None:
        """Return the unexplained efforts (n,) and the duration (s) of the last period.

        They follow from the difference between measured and predicted velocities. The result is
        None if the applied efforts are unknown.

        Args:
            delay: Delay of the commands, s.
            model: Masses and friction of the arm.
            disturbance: Efforts (n,) in addition to commands and model.
        """
        times, k = self._times, self.count - 1
        if k - 1 < self._unbroken or (
            not self._complete and times[k - 1] < times[0] + delay - SAME
        ):
            return None
        kernels, ratio = customize(self._robot).unchecked, model.mass_ratio
        _, (passive,), (signs,), (slides,) = self._explained(k - 1)
        rest = passive * (1.0 - 1.0 / ratio) - self._robot.coulomb_friction * signs
        q, v = self._q[k - 1], self._v[k - 1]
        for duration, effort in self._applied(float(times[k - 1]), float(times[k]), delay):
            q, v = _predicted(kernels.forward_dynamics, q, v, effort / ratio + rest, duration)
        elapsed = float(times[k] - times[k - 1])
        mass = kernels.mass_matrix(self._q[k])
        excess = ratio * mass @ ((v - self._v[k]) / elapsed) + disturbance
        # The friction of a joint that does not slide may have any value within its limit.
        low = np.where(slides, model.friction * signs, -model.friction)
        high = np.where(slides, low, model.friction)
        friction = np.minimum(np.maximum(excess, low), high)
        return friction - excess, elapsed

    @property
    def is_starting(self) -> bool:
        """Whether the motion has just begun, with too few states for a reliable identification."""
        return self._complete and (self.count <= LEAST_STATES + 2 or self._pending)

    @property
    def is_pending(self) -> bool:
        """Whether the last identification requires more states."""
        return self._pending

    def last(self, count: int) -> tuple[Vector, Matrix, Matrix]:
        """Return times (k,), positions and velocities (k, n) of the last `count` states."""
        rows = slice(self.count - count, self.count)
        return self._times[rows], self._q[rows], self._v[rows]

    def before(self, count: int) -> float | None:
        """Return the time (s) of the state before the last `count` states, or None."""
        return float(self._times[self.count - count - 1]) if self.count > count else None

    def _measure_noise(self) -> None:
        states = np.hstack([self._q[: self.count], self._v[: self.count]])
        if self.count > (LEAST_NOISE_STATES if self._least.any() else 3):
            measured = white_noise(self._times[: self.count], states).reshape(2, -1)
            self.noise = np.where(measured > LOUDER * self._least, measured, self._least)

    def identified(self, delay: float, longest: float, model: EffortModel) -> Identified | None:
        """Return delay, masses and friction, or None if there are not enough states.

        After an interruption, the assumed ones are returned until there are enough states.

        Args:
            delay: The assumed delay, s. Another delay must be significantly more probable. After
                it has been identified, it is only corrected.
            longest: Longest possible delay, s.
            model: The assumed masses and friction.
        """
        robot, count = self._robot, self.count
        times, candidates, first = self._times[:count], np.array([delay]), 0
        if self._complete:
            candidates = np.append(candidates, np.arange(0.0, longest, RESOLUTION))
        else:
            low, high = 0.0, longest
            if not self._delay_is_assumed:
                low, high = max(delay - SPREAD, 0.0), min(delay + SPREAD, longest)
            candidates = np.append(candidates, np.arange(low, high, RESOLUTION))
            first = int(np.searchsorted(times, times[0] + candidates.max() - SAME))
            first = max(first, self._unbroken)
        if count - 1 - first < LEAST_STATES:
            return Identified(delay, model) if self._unbroken else None
        self._measure_noise()
        bodies, passive, signs, slides = self._explained(first)
        spans = np.diff(times[first:])[:, None]
        impulses = self._impulses(first, candidates) - passive * spans
        inertia = np.diag(customize(robot).unchecked.mass_matrix(self._q[count - 1]))
        # Static friction holds weakly driven joints, with an unknown effort. It holds no joint
        # that is driven by more than the effort with which it moved.
        unexplained = impulses / spans - bodies
        drives = np.abs(unexplained[0] + inertia * np.diff(self._v[first:count], axis=0) / spans)
        weak = np.where(slides, drives, WEAK * robot.tau_max).min(axis=0)
        moves = slides | (np.abs(unexplained[0]) > weak) | (self.noise[1] > CREEP)
        # Friction holds a driven joint that has moved before. At the start, the delay holds it.
        started = (times[first + 1 :, None] > times[0] + longest) | (not self._complete)
        stands = (self.noise[1] > CREEP) | started | np.maximum.accumulate(slides)
        moved = slides.any(axis=0) | (self.noise[1] <= CREEP)  # otherwise it has no direction
        signs = signs * moved
        unclear = moves * stands * (1.0 - np.abs(signs)) * spans
        impulses, momenta, rubbing, unclear = (
            np.cumsum(rows, axis=-2)
            for rows in (moves * impulses, moves * bodies * spans, moves * signs * spans, unclear)
        )
        balance = Balance(momenta - impulses, impulses, rubbing, unclear)
        noise = first_noise = inertia * self.noise[1]
        if self._complete:
            # The first velocity is known from its measurement and from the start of the plan.
            variance = self.noise[1] ** 2
            error = variance / (variance + CREEP**2) * (self._v[0] - self._start)
            momentum = customize(robot).unchecked.mass_matrix(self._q[0]) @ error
            balance = balance._replace(errors=balance.errors + momentum)
            first_noise = noise * CREEP / np.sqrt(variance + CREEP**2)
        resolution = IMPULSE * robot.tau_max
        inverse, friction = 1.0 / model.mass_ratio, model.friction / model.mass_ratio
        assumed = inverse, friction
        estimate = fit(
            balance, robot.tau_max, noise + resolution, first_noise + resolution, *assumed
        )
        residuals = estimate.residuals
        if not self._complete and not self._delay_is_assumed:
            residuals = residuals + ((candidates - delay) / LATER_DEVIATION) ** 2
        best = int(residuals.argmin())
        if (
            estimate.unchanged - residuals[best] < SIGNIFICANT
            or residuals[0] - residuals[best] < SIGNIFICANT_DELAY
        ):
            best = 0
        if self._complete:
            elapsed = times[-1] - times[0]
            recent = elapsed - candidates < (LEAST_STATES - 0.5) * elapsed / (count - 1)
            self._pending = bool(
                elapsed < longest and (residuals[recent] - residuals[best] < SIGNIFICANT).any()
            )
        if self._pending:
            return None
        self._delay_is_assumed &= best == 0
        if self._delay_is_assumed:
            resolution = EXACT_IMPULSE * robot.tau_max
        balance = balance.of(best)
        estimate = fit(
            balance, robot.tau_max, noise + resolution, first_noise + resolution, *assumed
        )
        ratio = float(estimate.ratios[0])
        plausible = abs(ratio) < PLAUSIBLE  # not for a push
        if plausible and estimate.unchanged - estimate.residuals[0] > SIGNIFICANT:
            inverse = 1.0 + ratio
            # The friction that has held a joint is a lower bound of the friction of its motion.
            frictions = np.where(moved, estimate.frictions[0], estimate.static[0])
            friction = frictions / inverse
            rests = np.maximum((~moves).sum(axis=0), 1)
            held = np.abs((~moves * unexplained[best]).sum(axis=0)) / rests
            # Under constant efforts from rest, a heavier arm without friction moves alike.
            unlikely = float(estimate.frictionless_residuals[0] - estimate.residuals[0])
            lightest = estimate.frictionless_ratios[0] - PROBABLE * estimate.deviations[0]
            heaviest = 1.0 / max(1.0 + float(lightest), 1.0 - PLAUSIBLE)
            if unlikely > SIGNIFICANT_DELAY:
                heaviest = 0.0
            model = EffortModel(1.0 / inverse, friction, heaviest)
            model = model.with_friction(np.maximum(friction, held), robot)
        return Identified(float(candidates[best]), model)

    def _impulses(self, first: int, delays: Vector) -> Any:
        """Return the impulses (d, k, n) of the commands after state `first` for delays (d,), s."""
        count = self.count
        out = np.zeros((len(delays), count - 1 - first, self._robot.n))
        commands = self._offsets, self._efforts, self._before
        add_impulses(self._times[:count], *commands, first, count - 1, delays, out)
        return out

    def predicted(self, delay: float, model: EffortModel, disturbance: Vector) -> list[Predicted]:
        """Return the states until the next command acts, beginning with the last measured one.

        Args:
            delay: Delay of the commands, s.
            model: Masses and friction of the arm.
            disturbance: Efforts (n,) in addition to commands and model.
        """
        robot, k = self._robot, self.count - 1
        dynamics, ratio, t = customize(robot).unchecked.forward_dynamics, model.mass_ratio, 0.0
        now, q, v = float(self._times[k]), self._q[k], self._v[k]
        rows = []
        for duration, effort in self._applied(now, now + delay, delay):
            rows.append(Predicted(t, q, v, effort))
            passive = robot.damping * v + robot.stiffness * (q - robot.rest)
            signs = np.minimum(np.maximum(v / CREEP, -1.0), 1.0)
            rubbing = robot.coulomb_friction * signs + model.friction * signs / ratio
            rest = passive * (1.0 - 1.0 / ratio) - rubbing
            acting = (effort + disturbance) / ratio + rest
            q, v = _predicted(dynamics, q, v, acting, duration)
            t += duration
        return [*rows, Predicted(t, q, v, self._before)]

    def _applied(self, now: float, end: float, delay: float) -> list[tuple[float, Vector]]:
        """Return durations (s) and efforts (n,) between two times, s."""
        rows = []
        begins = np.append(self._times[: self.count] + delay, np.inf)
        while now < end - SAME:
            j = int(begins.searchsorted(now + SAME, side="right")) - 1
            effort, until = self._before, begins[j + 1]
            if j >= 0:
                jumps = np.append(self._times[j] + self._offsets[j], np.inf)
                i = max(int(jumps.searchsorted(now + SAME, side="right")) - 1, 0)
                effort, until = self._efforts[j, i], min(until, jumps[i + 1])
            until = min(float(until), end)
            rows.append((until - now, effort))
            now = until
        return rows

    def _explained(self, first: int) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Return the explained efforts and the directions of the periods after state `first`.

        They are the efforts of the bodies, the passive efforts, the expected signs of the
        velocities, and whether a joint certainly slides (k, n).
        """
        robot, end = self._robot, self.count
        q, v, times = self._q[first:end], self._v[first:end], self._times[first:end]
        a = (v[1:] - v[:-1]) / (times[1:] - times[:-1])[:, None]
        q, v = 0.5 * (q[:-1] + q[1:]), 0.5 * (v[:-1] + v[1:])
        passive = robot.damping * v + robot.stiffness * (q - robot.rest) + robot.armature * a
        bodies = inverse_rows(robot, q, v, a) - passive
        # Averages over several states reveal the directions of slow joints under noise.
        average, count = averaged(v, AVERAGED if self.noise[1].any() else 1)
        noise = self.noise[1] / np.sqrt(count)
        slides = np.abs(average) >= CREEP + SURE * noise
        if not self._least.any():
            noise = SURE * noise  # it may be that of the motion itself
        signs = np.minimum(np.maximum(average / (CREEP + noise), -1.0), 1.0)
        return bodies, passive + robot.coulomb_friction * signs, signs, slides


def averaged(rows: Matrix, window: int) -> tuple[Matrix, Matrix]:
    """Return centred moving averages (k, n) of rows (k, n), and the number of rows (k, 1) in each.

    The window (odd) is shorter at both ends.
    """
    k, half = len(rows), window // 2
    sums = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, axis=0)])
    index = np.arange(k)
    reach = np.minimum(half, np.minimum(index, k - 1 - index))
    count = (2 * reach + 1)[:, None]
    return (sums[index + reach + 1] - sums[index - reach]) / count, count


def _predicted(
    dynamics: Callable[[Vector, Vector, Vector], Vector],
    q: Vector,
    v: Vector,
    effort: Vector,
    duration: float,
) -> tuple[Vector, Vector]:
    """Return the state (q, v) after constant efforts (n,) over `duration` s (Runge-Kutta)."""
    steps = max(math.ceil(duration / LONGEST_STEP - 1e-6), 1)
    h = duration / steps
    for _ in range(steps):
        k1 = dynamics(q, v, effort)
        v2 = v + 0.5 * h * k1
        k2 = dynamics(q + 0.5 * h * v, v2, effort)
        v3 = v + 0.5 * h * k2
        k3 = dynamics(q + 0.5 * h * v2, v3, effort)
        v4 = v + h * k3
        k4 = dynamics(q + h * v3, v4, effort)
        q = q + h / 6.0 * (v + 2.0 * (v2 + v3) + v4)
        v = v + h / 6.0 * (k1 + 2.0 * (k2 + k3) + k4)
    return q, v


@compiled(short=True)
def add_impulses(times, offsets, efforts, before, first, last, delays, out):
    """Add the impulses of the commands in the periods from state `first` to state `last` to `out`.

    The command for state j acts from `times[j]` plus the delay. Its segments begin at `times[j] +
    offsets[j]`. Each row of `out` belongs to one of the delays.
    """
    for d in range(delays.size):
        delay, command = delays[d], -1
        for k in range(first, last):
            now, end = times[k], times[k + 1]
            while now < end - SAME:
                while command + 1 < times.size and times[command + 1] + delay <= now + SAME:
                    command += 1
                until = end
                if command + 1 < times.size:
                    until = min(until, times[command + 1] + delay)
                acting = 0
                if command >= 0:
                    for s in range(offsets.shape[1]):
                        begins = times[command] + offsets[command, s]
                        if begins <= now + SAME:
                            acting = s
                        else:
                            until = min(until, begins)
                            break
                for i in range(out.shape[2]):
                    effort = before[i] if command < 0 else efforts[command, acting, i]
                    out[d, k - first, i] += (until - now) * effort
                now = until
