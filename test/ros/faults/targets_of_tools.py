"""Faults of live targets, and of the arm that follows them."""

from __future__ import annotations

from faults.case import OK, Case
from faults.planning import state
from geometry_msgs.msg import TwistStamped

NAN = float("nan")


def tracked(name, done, do, *words, ends="following"):
    """Return a case in which the tracker continues to follow its target, or holds the arm."""
    return Case(name, "tracker", done, do, "clik_tracker", "tracking", OK, "tracking",
                words, ends)  # fmt: skip


def sent(name, done, words, place=(0.5, 0.5, 0.0), **what):
    """Return the case of a target pose that is dropped."""
    logged = "dropped", words
    return tracked(name, done, lambda s: s.insist(lambda: s.send(place, **what), *logged), *logged)


def nan_twist(system):
    """Send a twist with NaN."""
    message = TwistStamped()
    message.twist.linear.x = NAN
    system.insist(lambda: system.twists.publish(message), "dropped", "finite")


def during_motion(*words, **what):
    """Return a fault that publishes a joint state during a motion until the log reports it."""

    def do(system):
        system.move()
        system.insist(lambda: system.foreign.publish(state(system.now, **what)), *words)

    return do


CASES = (
    sent("nan_target", "a target pose with NaN", "finite", (NAN, 0.0, 0.0)),
    sent("no_rotation_target", "a target whose quaternion is zero", "length 1, got 0",
         quaternion=(0.0,) * 4),
    sent("unknown_frame_target", "a target in an unknown frame", "nowhere", frame="nowhere"),
    sent("stale_target", "a target stamped 100 s ago", "s old", seconds=-100),
    sent("future_target", "a target stamped 100 s in the future", "s ahead", seconds=100),
    tracked("nan_twist", "a target twist with NaN", nan_twist, "dropped", "finite"),
    tracked("nan_state_during_motion", "a joint state with NaN during a motion",
            during_motion("dropped", "nan", position=[NAN, 0.0]), "dropped", "nan"),
    tracked("stale_state_during_motion", "a joint state from 10 s ago during a motion",
            during_motion("the arm was reset", seconds=-10), "the arm was reset", ends="rest"),
    tracked("impossible_state_during_motion", "a joint state 2 rad away during a motion",
            during_motion("the arm was reset", position=[-2.0, 2.0]), "the arm was reset",
            ends="rest"),
)  # fmt: skip
