"""One run: the compiled loop, and the executor where that has to be asked."""

from __future__ import annotations

import numpy as np

from manip_dyn.codegen import customize
from manip_dyn.core.errors import ManipDynError
from manip_dyn.ensembles.sweeps.closed_loop.compiled.loop import (
    DIVERGED,
    OVER,
    SWITCH,
    TRACK,
    Loop,
    one_period,
    run,
)
from manip_dyn.ensembles.sweeps.closed_loop.conditions import Conditions
from manip_dyn.ensembles.sweeps.closed_loop.layout import (
    arm_of,
    followed,
    kernels_of,
    law_of,
    nothing_to_follow,
    nothing_to_switch,
    scratch_of,
    switched,
)
from manip_dyn.planning import Plan, PlanExecutor, Tuning
from manip_dyn.planning.execution.executor import Tracking

MOST_SEGMENTS = 32
MOST_PERIODS = 10_000_000
LONGER = 1.0
"""For how long an arm is watched beyond the plan's end, where nothing is said, s."""


class ClosedLoop:
    """One run: the compiled loop, and the executor where that has to be asked."""

    def __init__(self, plan: Plan, about: Conditions, tuning: Tuning):
        """Lay out the memory."""
        robot, n, period = plan.robot, plan.robot.n, about.control_period
        assumed = about.delay if about.assumed_delay is None else about.assumed_delay
        self.executor = PlanExecutor(robot, plan, period + assumed, tuning, period)
        duration = about.duration or plan.t_final + about.delay + LONGER
        self.last, ring = max(round(duration / period), 1), int(about.delay / period + 1e-9) + 3
        if self.last + ring > MOST_PERIODS:
            raise ManipDynError(
                f"duration and delay are {duration:g} s and {about.delay:g} s, with a control "
                f"period of {period:g} s; expected {MOST_PERIODS} periods at most"
            )
        self._kernels = kernels_of(robot)
        self._arm = arm_of(robot, about)
        self._scratch = scratch_of(n)
        self._law = law_of(robot, tuning)
        noise = np.zeros((self.last, 2 * n))
        if about.position_noise or about.velocity_noise:
            deviations = np.repeat([about.position_noise, about.velocity_noise], n)
            noise += deviations * np.random.default_rng(about.seed).standard_normal(noise.shape)
        self.loop = Loop(
            period=period,
            delay=about.delay,
            lead=assumed if self.executor.timed else 0.0,
            horizon=period + assumed,
            offsets=np.zeros((ring, MOST_SEGMENTS)),
            efforts=np.zeros((ring, MOST_SEGMENTS, n)),
            counts=np.ones(ring),
            noise=noise,
            states=np.zeros((self.last + 1, 2 * n)),
            q=np.zeros(n),
            v=np.zeros(n),
        )
        self._y = np.concatenate([plan.q0, np.zeros(n)])
        zero = np.zeros(n)
        self.loop.efforts[:, 0] = customize(robot).unchecked.inverse_dynamics(plan.q0, zero, zero)
        self._followed, self._switched = followed(nothing_to_follow(n), 0, n), nothing_to_switch(n)

    def go(self, compiled: bool) -> int:
        """Run; return at which measurement it ended."""
        number = 0
        while True:
            tracking = self.executor.tracking if compiled else None
            if tracking is not None:
                code, number = self._compiled(tracking, number)
                if code in (OVER, DIVERGED):
                    return number
            elif number == self.last:
                self.loop.states[number] = self._y
                return number
            number = self._asked(number, tracking is None)

    def _compiled(self, tracking: Tracking, number: int) -> tuple[int, int]:
        """Go on until something happens that is not usual."""
        law, switching = self._law, tracking.switching
        law.sum[:], law.saturated[0] = tracking.sum, tracking.saturated
        if switching is None:
            self._followed = followed(tracking, self.executor.returns, len(law.sum))
            arrival = self.executor.arrival_time
            self._followed.heard[1] = np.nan if arrival is None else arrival
        elif self._switched.curve.shape[0] == 1:
            self._switched = switched(switching, tracking)
        code, number = run(
            self._kernels,
            self._arm,
            law,
            self._followed,
            self._switched,
            self.loop,
            self._scratch,
            TRACK if switching is None else SWITCH,
            number,
            self._y,
        )
        heard = self._followed.heard
        if switching is None:
            last, arrival = (None if np.isnan(each) else float(each) for each in heard)
        else:
            last, arrival = tracking.heard, None
        self.executor.tracked(last, arrival, law.sum.copy(), bool(law.saturated[0]))
        return code, number

    def _asked(self, number: int, measure: bool) -> int:
        """Ask the executor at one measurement; return the next one's number."""
        loop, n = self.loop, len(self.loop.q)
        if measure:
            loop.states[number] = self._y
            loop.q[:] = self._y[:n] + loop.noise[number, :n]
            loop.v[:] = self._y[n:] + loop.noise[number, n:]
        t = number * loop.period - loop.lead
        segments = self.executor.segments(t, loop.q.copy(), loop.v.copy())[:MOST_SEGMENTS]
        place = number % len(loop.counts)
        loop.counts[place] = len(segments)
        for k, segment in enumerate(segments):
            loop.offsets[place, k], loop.efforts[place, k] = segment.offset, segment.effort
        one_period(self._kernels, self._arm, loop, number, self._y, self._scratch)
        return number + 1
