"""What state a tracker is in, how bad that is, and the sentence for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from manip_dyn.ros.messages.diagnostics import ERROR, OK, WARN
from manip_dyn.ros.messages.states import State

STATES = (
    State("fault", ERROR, "numbers became infinite or NaN: call ~/reset"),
    State("waiting", WARN, "no joint states yet on {topic}"),
    State("silent", WARN, "no joint states for {silence:.1f} s"),
    State("outside_limits", ERROR, "joint outside its limits: {outside}"),
    State("unheard", WARN, "nobody listens on {topic}"),
    State("braking", WARN, "braking: {fastest}; the arm is led on when it is slow"),
    State("not_alone", WARN, "other publishers on {topic}: {others}; expected this node alone"),
    State("approaching", WARN, "on the way to the path: {distance} from it"),
    State("off_path", WARN, "{news}"),
    State("overruns", WARN, "overruns in the last while: {overruns}"),
    State("paused", OK, "paused"),
    State("standing", OK, "time stands still: the same joint state for {seconds:.1f} s"),
    State("tracking", OK, "tracking"),
)
"""In the order in which they are told where several hold."""
BY_NAME = {state.name: state for state in STATES}
WITHOUT_ERRORS = ("fault", "waiting", "silent", "unheard", "braking", "approaching")
"""States in which the tool has no error to the path that is worth a number."""


@dataclass(frozen=True)
class Facts:
    """What is known now; each field that is set may be a reason for a state.

    Attributes:
        fault: Whether numbers stopped being finite.
        waiting: The topic on which nothing came yet.
        silence: How long nothing came, s; 0: it comes.
        outside: The joints outside their limits.
        unheard: The topic of commands to which nobody listens.
        braking: The fastest joint of an arm that is braked.
        others: Nodes that publish on `topic` beside this one.
        topic: The topic of commands, or of joint states in kinematic mode.
        approaching: The distance to the path on the way to it.
        off_path: What the watch says of the path or target.
        overruns: How many in the last while.
        paused: Whether the node was paused.
        standing: For how long the same joint state has come again and again, s.
    """

    fault: bool = False
    waiting: str = ""
    silence: float = 0.0
    outside: str = ""
    unheard: str = ""
    braking: str = ""
    others: str = ""
    topic: str = field(default="", compare=False)
    approaching: str = ""
    off_path: str = ""
    overruns: int = 0
    paused: bool = False
    standing: float = 0.0


def state_of(facts: Facts) -> tuple[State, str]:
    """Return the first state of `STATES` that holds, and its sentence."""
    holds = {
        "fault": facts.fault,
        "waiting": facts.waiting,
        "silent": facts.silence,
        "outside_limits": facts.outside,
        "unheard": facts.unheard,
        "braking": facts.braking,
        "not_alone": facts.others,
        "approaching": facts.approaching,
        "off_path": facts.off_path,
        "overruns": facts.overruns,
        "paused": facts.paused,
        "standing": facts.standing,
        "tracking": True,
    }
    state = next(state for state in STATES if holds[state.name])
    sentence = state.says(
        topic=facts.waiting or facts.unheard or facts.topic,
        silence=facts.silence,
        outside=facts.outside,
        fastest=facts.braking,
        others=facts.others,
        distance=facts.approaching,
        news=facts.off_path,
        overruns=facts.overruns,
        seconds=facts.standing,
    )
    return state, sentence
