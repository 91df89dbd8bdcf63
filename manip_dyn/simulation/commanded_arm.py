"""A simulated arm under commands: efforts, joint references and joint trajectories.

The rules are those of ros2_control's forward command controllers. The last command holds. If no
command arrives for the timeout, a safe law takes over; it also acts before the first command. A
schedule counts as a command until its last effort. An arm at rest at its references stays there:
ros2_control's topic hardware sends no command that equals the state. Disturbances start with the
first command.
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
from manip_dyn.core.errors import ManipDynError
from manip_dyn.simulation.effort_laws import EffortLaw, Schedule, held
from manip_dyn.simulation.simulation import Disturbance, Simulation


def driven(
    kernels: Kernels, told: References, q: Vector, law: EffortLaw, bandwidth: float
) -> EffortLaw:
    """Return the efforts by which an arm at q (n,) does what it is told.

    Joints that are told nothing hold the position that they were told last, if `law` is that of a
    drive which has one, else where they are.

    Args:
        kernels: The arm.
        told: What its joints are told now.
        q: Where they are (n,).
        law: What acted so far.
        bandwidth: Of the drives, 1/s.
    """
    if not np.isnan(told.effort).any():
        return held(kernels.robot, told.effort)
    if isinstance(law, JointDrive):
        last = law.references.position
        q = np.where(np.isnan(last), q, last)
    return JointDrive(kernels, told.held_at(q), bandwidth)


MAX_AGE, MAX_LEAD = 1.0, 60.0
"""How old a schedule may be without a timeout, and how far ahead it may begin, s."""


class CommandedArm:
    """An arm that moves on by what it was told last.

    Attributes:
        simulation: The arm.
        timeout: Simulated time without a command after which the safe law takes over, s; 0: the
            last command holds for good.
        timed_out: Whether the safe law has taken over.
    """

    def __init__(
        self,
        simulation: Simulation,
        safe_law: EffortLaw,
        timeout: float = 0.0,
        disturbance: Disturbance | None = None,
    ):
        """Take the arm; the times of the disturbance count from the first command."""
        self.simulation, self.timeout = simulation, timeout
        self._safe_law, self._disturbance = safe_law, disturbance
        self._quiet = simulation.disturbance
        self.reset()

    @property
    def time_ns(self) -> int:
        """Simulated time."""
        return self.simulation.time_ns

    @property
    def commanded(self) -> bool:
        """Whether a command has come."""
        return self._commanded_ns is not None

    def reset(self) -> None:
        """Go back to the initial state; no command has come."""
        self.simulation.reset()
        self.simulation.law = self._safe_law
        self.simulation.disturbance = self._quiet
        self._commanded_ns: int | None = None
        self.timed_out = False

    def command(self, law: EffortLaw) -> None:
        """Let efforts act from now on; where a schedule begins later, those of now until then."""
        now = self.time_ns
        if isinstance(law, Schedule) and law.times_ns[0] > now:
            law = law.preceded_by(now, self.simulation.effort)
        self.simulation.law = law
        if self._commanded_ns is None and self._disturbance is not None:
            effort, begin, end = self._disturbance
            self.simulation.disturbance = Disturbance(effort, begin + now, end + now)
        last = law.times_ns[-1] if isinstance(law, Schedule) else now
        self._commanded_ns, self.timed_out = max(now, last), False

    def use(self, simulation: Simulation, safe_law: EffortLaw) -> None:
        """Go on with an arm of other masses, and what is safe for it; commands hold on."""
        before = self.simulation
        simulation.go_on_from(before)
        if before.law is self._safe_law:
            simulation.law = safe_law
        self.simulation, self._safe_law = simulation, safe_law

    def push(self, effort: Vector, duration_ns: int) -> None:
        """Let efforts (n,) act beside the commands from now on for a while, ns."""
        now = self.time_ns
        self.simulation.disturbance = Disturbance(effort, now, now + duration_ns)

    def time_out(self) -> None:
        """Let the safe law take over."""
        self.simulation.law, self.timed_out = self._safe_law, True

    @property
    def holding(self) -> bool:
        """Whether the arm is where its drives were told to rest."""
        law, simulation = self.simulation.law, self.simulation
        return isinstance(law, JointDrive) and law.holds(simulation.q, simulation.v)

    @property
    def silent(self) -> bool:
        """Whether no command has come for longer than the timeout."""
        return 0.0 < self.timeout * 1e9 < self._silence_ns

    @property
    def _silence_ns(self) -> int:
        return 0 if self._commanded_ns is None else self.time_ns - self._commanded_ns

    def check_age(self, start_ns: int) -> None:
        """Refuse what was to begin too long ago, or begins too far ahead."""
        age = (self.time_ns - start_ns) * 1e-9
        oldest = self.timeout or MAX_AGE
        if not -MAX_LEAD <= age <= oldest:
            raise ManipDynError(
                f"effort trajectory begins {-age:.3f} s from now; expected {-oldest:g} to "
                f"{MAX_LEAD:g} s, on the time line of joint_states"
            )

    def advance(self, duration_ns: int) -> None:
        """Move on, see `Simulation.advance`."""
        if self.silent and not self.timed_out and not self.holding:
            self.time_out()
        self.simulation.advance(duration_ns)


PERIOD_NS = 1_000_000
"""Time for which efforts are held."""
SLOW = 0.05
"""Speed at which a braked joint is held where it is, rad/s or m/s."""


class Following:
    """Follows, then holds the last point; or brakes, then holds where the arm came to rest.

    The efforts depend on time and state alone, so that a simulation may ask for them twice;
    what is next is decided by `go_on` and `stop`.

    Attributes:
        outcome: How the following ended; None while it goes on.
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
        """Begin from a state.

        Args:
            kernels: The arm's.
            waypoints: See `checked_waypoints`.
            tolerances: Those of the goal.
            start_ns: When the trajectory begins, simulated time.
            now: Simulated time, ns, positions and velocities (n,).
            brake_rate: See `Brake`.
        """
        time_ns, q, v = now
        self._kernels, self._robot = kernels, kernels.robot
        self._brake = Brake(kernels, brake_rate)
        self._tolerances, self._start_ns = tolerances, start_ns
        weight = kernels.unchecked.inverse_dynamics(q, 0.0 * q, 0.0 * q)
        begun = 1e-9 * (time_ns - start_ns)
        self._follower = self._along(JointSplines(kernels.robot, waypoints, begun, q, v, weight))
        self._law: Callable[[int, Vector, Vector], Vector] = self._followed
        self.outcome: Outcome | None = None

    def effort(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        """Return the efforts (n,) that act for the next millisecond, N m or N."""
        return self._law(time_ns, q, v)

    def next_switch(self, time_ns: int) -> int:
        """Return when the efforts change next, a whole number of periods."""
        return (time_ns // PERIOD_NS + 1) * PERIOD_NS

    def go_on(self, time_ns: int, q: Vector, v: Vector) -> None:
        """Decide what is next; to be called every control period."""
        if self.outcome is None:
            self.outcome = self._follower.outcome(self._seconds(time_ns), q, v)
            if self.outcome is not None and self.outcome.code is Code.SUCCESSFUL:
                self._hold(self._follower.splines.goal)
            elif self.outcome is not None:
                self._law = self._brake.effort
        elif self._law == self._brake.effort and np.abs(v).max() <= SLOW:
            self._hold(q)

    def stop(self, outcome: Outcome) -> None:
        """Brake, then hold; `outcome` tells why."""
        if self.outcome is None:
            self.outcome, self._law = outcome, self._brake.effort

    def end(self, outcome: Outcome) -> None:
        """Note that something else drives the arm; `outcome` tells what."""
        if self.outcome is None:
            self.outcome = outcome

    def wanted(self, time_ns: int) -> tuple[float, Vector, Vector, Vector]:
        """Return the time since the start, s, and the motion wanted then, each (n,)."""
        t = self._seconds(time_ns)
        return t, *self._follower.splines.motion(t)

    def _seconds(self, time_ns: int) -> float:
        return 1e-9 * (time_ns - self._start_ns)

    def _along(self, splines: JointSplines) -> TrajectoryFollower:
        return TrajectoryFollower(self._robot, splines, self._tolerances, 1e-9 * PERIOD_NS)

    def _followed(self, time_ns: int, q: Vector, v: Vector) -> Vector:
        return self._follower.effort(self._seconds(time_ns), q, v)

    def _hold(self, q: Vector) -> None:
        held = self._along(JointSplines.standing(self._robot, q))
        self._law = lambda _time_ns, q, v: held.effort(0.0, q, v)
