"""A simulated arm under commands: efforts, joint references and joint trajectories.

The rules are those of ros2_control's forward command controllers. The last command holds. If no
command arrives before the timeout, a safe law replaces it; the safe law also acts before the first
command. A schedule counts as a command until its last effort. If joint drives hold the arm at
their references, they continue to do so after the timeout, because ros2_control's topic hardware
sends no command that equals the state. The initial disturbance is timed from the first command.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from manip_dyn.codegen import Kernels
from manip_dyn.control import Brake
from manip_dyn.control.joint_drives import RATE, JointDrive, References
from manip_dyn.control.joint_trajectory import Code, JointSplines, Outcome, Waypoint
from manip_dyn.control.trajectory_follower import Tolerances, TrajectoryFollower
from manip_dyn.core.checks import Vector
from manip_dyn.core.deprecation import renamed_arguments
from manip_dyn.core.errors import ManipDynError
from manip_dyn.simulation.effort_laws import EffortLaw, Schedule, held
from manip_dyn.simulation.simulation import Disturbance, Simulation

MAX_AGE, MAX_LEAD = 1.0, 60.0
"""Maximum age of a schedule without a timeout, and maximum time until its start, s."""
PERIOD_NS = 1_000_000
"""Time for which the efforts along a joint trajectory are held, ns."""
SLOW = 0.05
"""Speed below which a braked joint is held at its position, rad/s or m/s."""


@renamed_arguments(told="references")
def driven(
    kernels: Kernels, references: References, q: Vector, law: EffortLaw, bandwidth: float
) -> EffortLaw:
    """Return an effort law that drives the joints to their references.

    If all joints have reference efforts, the law holds these efforts. Otherwise, joints without a
    reference hold their previous reference position if `law` is a `JointDrive` that has one, or
    else their current position.

    Args:
        kernels: Kernels of the arm.
        references: New references of the joints.
        q: Current positions (n,).
        law: The previous effort law.
        bandwidth: Bandwidth of the drives, 1/s.
    """
    if not np.isnan(references.effort).any():
        return held(kernels.robot, references.effort)
    if isinstance(law, JointDrive):
        last = law.references.position
        q = np.where(np.isnan(last), q, last)
    return JointDrive(kernels, references.held_at(q), bandwidth)


class CommandedArm:
    """A simulated arm that follows the last command.

    Attributes:
        simulation: The arm.
        timeout: Simulated time without a command after which the safe law acts unless the arm is
            `holding`, s; 0 for never.
        timed_out: Whether the safe law acts because the timeout or the command's end has passed.
    """

    def __init__(
        self,
        simulation: Simulation,
        safe_law: EffortLaw,
        timeout: float = 0.0,
        disturbance: Disturbance | None = None,
    ):
        """Set the arm, the safe law, and a disturbance that is timed from the first command."""
        self.simulation, self.timeout = simulation, timeout
        self._safe_law, self._disturbance = safe_law, disturbance
        self._no_disturbance = simulation.disturbance
        self.reset()

    @property
    def time_ns(self) -> int:
        """Simulated time, ns."""
        return self.simulation.time_ns

    @property
    def commanded(self) -> bool:
        """Whether the arm has received a command."""
        return self._commanded_ns is not None

    def reset(self) -> None:
        """Reset the arm to its initial state, without a command."""
        self.simulation.reset()
        self.simulation.law = self._safe_law
        self.simulation.disturbance = self._no_disturbance
        self._commanded_ns: int | None = None
        self._end_ns: int | None = None
        self.timed_out = False
        self._equilibrium: tuple[object, ...] | None = None

    def command(self, law: EffortLaw, end_ns: int | None = None) -> None:
        """Apply an effort law. If it is a schedule, the current effort acts until it starts.

        Args:
            law: The effort law.
            end_ns: Simulated time at which the safe law replaces the command, ns. Default: only
                the timeout ends it.
        """
        now, self._end_ns = self.time_ns, end_ns
        if isinstance(law, Schedule) and law.times_ns[0] > now:
            law = law.preceded_by(now, self.simulation.effort)
        self.simulation.law = law
        if self._commanded_ns is None and self._disturbance is not None:
            effort, begin, end = self._disturbance
            self.simulation.disturbance = Disturbance(effort, begin + now, end + now)
        last = law.times_ns[-1] if isinstance(law, Schedule) else now
        self._commanded_ns, self.timed_out = max(now, last), False

    def use(self, simulation: Simulation, safe_law: EffortLaw) -> None:
        """Continue with an arm of different masses and its safe law; retain the last command."""
        before = self.simulation
        simulation.continue_from(before)
        if before.law is self._safe_law:
            simulation.law = safe_law
        self.simulation, self._safe_law = simulation, safe_law

    def push(self, effort: Vector, duration_ns: int) -> None:
        """Add an effort (n,), N m or N, to the commands for the next `duration_ns` nanoseconds.

        It replaces the current disturbance.
        """
        now = self.time_ns
        self.simulation.disturbance = Disturbance(effort, now, now + duration_ns)

    def release(self) -> None:
        """End the current command, if any: the safe law acts."""
        if self.commanded:
            self.time_out()

    def time_out(self) -> None:
        """Apply the safe law."""
        self.simulation.law, self.timed_out = self._safe_law, True
        self._end_ns = None

    @property
    def holding(self) -> bool:
        """Whether joint drives hold the arm at their references, see `JointDrive.holds`."""
        law, simulation = self.simulation.law, self.simulation
        return isinstance(law, JointDrive) and law.holds(simulation.q, simulation.v)

    @property
    def silent(self) -> bool:
        """Whether the last command is older than the timeout."""
        return 0.0 < self.timeout * 1e9 < self._silence_ns

    @property
    def _silence_ns(self) -> int:
        return 0 if self._commanded_ns is None else self.time_ns - self._commanded_ns

    def check_age(self, start_ns: int) -> None:
        """Raise `ManipDynError` if a schedule starts too long ago or too far in the future."""
        age = (self.time_ns - start_ns) * 1e-9
        oldest = self.timeout or MAX_AGE
        if not -MAX_LEAD <= age <= oldest:
            raise ManipDynError(
                f"effort trajectory must start {-oldest:g} to {MAX_LEAD:g} s from now on the time "
                f"line of joint_states, got {-age:.3f} s."
            )

    def advance(self, duration_ns: int) -> None:
        """Advance the simulation. Apply the safe law if the timeout or the command's end passes.

        An arm that is `holding` keeps its law after the timeout. See `Simulation.advance`.
        """
        if self.silent and not self.timed_out and not self.holding:
            self.time_out()
        remaining = None if self._end_ns is None else self._end_ns - self.time_ns
        if remaining is not None and remaining < duration_ns:
            if remaining > 0:
                self._advance(remaining)
                duration_ns -= remaining
            self.time_out()
        self._advance(duration_ns)

    def _advance(self, duration_ns: int) -> None:
        """Advance the simulation, or only its time if a brake holds the arm in equilibrium.

        The efforts of a brake depend only on the state. If they have not changed the state, they
        do not change it in the next period of the same duration. The integration takes most of
        the CPU time of an arm at rest.
        """
        simulation, before = self.simulation, self._state(duration_ns)
        if before is not None and before == self._equilibrium:
            simulation.time_ns += duration_ns
            return
        simulation.advance(duration_ns)
        self._equilibrium = before if before == self._state(duration_ns) else None

    def _state(self, duration_ns: int) -> tuple[object, ...] | None:
        """Return the state and the period of a braked arm; None for other arms."""
        simulation = self.simulation
        if self._pushed or not isinstance(simulation.law, Brake):
            return None
        law, q, v = simulation.law, simulation.q, simulation.v
        return simulation, law, duration_ns, q.tobytes(), v.tobytes()

    @property
    def _pushed(self) -> bool:
        """Whether a disturbance may act now or later."""
        disturbance = self.simulation.disturbance
        return disturbance.end_ns > self.time_ns and bool(disturbance.effort.any())


class Following:
    """Effort law that follows a joint trajectory, then holds the last point.

    After a failure the arm brakes, then holds its rest position. The efforts depend only on time
    and state, so that a simulation may evaluate them repeatedly. `update` and `stop` change the
    mode.

    Attributes:
        outcome: Result of the trajectory; None while it is active.
    """

    def __init__(
        self,
        kernels: Kernels,
        waypoints: list[Waypoint],
        tolerances: Tolerances,
        start_ns: int,
        now: tuple[int, Vector, Vector],
        brake_rate: float = RATE,
    ):
        """Start following the trajectory from the current state.

        Args:
            kernels: Kernels of the arm.
            waypoints: See `checked_waypoints`.
            tolerances: Path and goal tolerances.
            start_ns: Start of the trajectory in simulated time, ns.
            now: Current simulated time (ns), positions (n,) and velocities (n,).
            brake_rate: See `Brake`.
        """
        time_ns, q, v = now
        self._kernels, self._robot = kernels, kernels.robot
        self._brake = Brake(kernels, brake_rate)
        self._tolerances, self._start_ns = tolerances, start_ns
        weight = kernels.unchecked.inverse_dynamics(q, 0.0 * q, 0.0 * q)
        elapsed = 1e-9 * (time_ns - start_ns)
        splines = JointSplines(kernels.robot, waypoints, elapsed, q, v, weight)
        self._follower = self._along(splines)
        self._law: Callable[[int, Vector, Vector], Vector] = self._follow
        self.outcome: Outcome | None = None

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) for the next millisecond, N m or N."""
        return self._law(time_ns, q, v)

    def next_switch(self, time_ns: int) -> int:
        """Return the next multiple of the control period (ns), at which the efforts change."""
        return (time_ns // PERIOD_NS + 1) * PERIOD_NS

    def update(self, time_ns: int, q: Vector, v: Vector) -> None:
        """Check the tolerances and select the mode. Call this method every control period."""
        if self.outcome is None:
            self.outcome = self._follower.outcome(self._seconds(time_ns), q, v)
            if self.outcome is not None and self.outcome.code is Code.SUCCESSFUL:
                self._hold(self._follower.splines.goal)
            elif self.outcome is not None:
                self._law = self._brake.effort
        elif self._law == self._brake.effort and np.abs(v).max() <= SLOW:
            self._hold(q)

    def stop(self, outcome: Outcome) -> None:
        """End an active trajectory with `outcome`: brake, then hold."""
        if self.outcome is None:
            self.outcome, self._law = outcome, self._brake.effort

    def end(self, outcome: Outcome) -> None:
        """Record the outcome of an active trajectory that another effort law has replaced."""
        if self.outcome is None:
            self.outcome = outcome

    def desired(self, time_ns: int) -> tuple[float, Vector, Vector, Vector]:
        """Return the time since the start (s), and the desired motion at that time.

        The motion consists of positions, velocities and accelerations (n,), see `JointMotion`.
        """
        t = self._seconds(time_ns)
        return t, *self._follower.splines.motion(t)

    def _seconds(self, time_ns: int) -> float:
        return 1e-9 * (time_ns - self._start_ns)

    def _along(self, splines: JointSplines) -> TrajectoryFollower:
        return TrajectoryFollower(self._robot, splines, self._tolerances, 1e-9 * PERIOD_NS)

    def _follow(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        return self._follower.effort(self._seconds(time_ns), q, v)

    def _hold(self, q: Vector) -> None:
        follower = self._along(JointSplines.standing(self._robot, q))
        self._law = lambda _time_ns, q, v: follower.effort(0.0, q, v)
