"""A simulated arm under commands, by the rules of ros2_control's forward command controllers.

The last command holds. After a while without one a safe law takes over, which also acts before the
first one. A schedule is a command for as long as it has efforts to come. An arm that is where its
drives were told to rest stays there: ros2_control's topic hardware sends no command that equals
the state. What disturbs the arm begins with the first command.
"""

from __future__ import annotations

from manip_dyn.control.joint_drive import JointDrive
from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError
from manip_dyn.simulation.laws.effort_laws import EffortLaw, Schedule
from manip_dyn.simulation.simulation import Disturbance, Simulation

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
