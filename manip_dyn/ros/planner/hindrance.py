"""What is in the way of a new motion."""

from __future__ import annotations

from typing import NamedTuple


class Hindrance(NamedTuple):
    """A code for programs and a sentence for people."""

    code: str
    sentence: str


def hindrance(
    moves: str, led: bool, busy: bool, listened: bool, topic: str, others: str
) -> Hindrance | None:
    """Return what is in the way, or nothing.

    Args:
        moves: The fastest joint of an arm that does not rest, and how fast it is.
        led: Whether another node, or a motion of this one, leads the arm.
        busy: Whether a plan is being made.
        listened: Whether somebody listens on all topics of efforts.
        topic: The name of the command topic.
        others: The names of other nodes that publish there.
    """
    if moves and led:
        return Hindrance("arm_moves", f"the arm moves, {moves}; a new motion expects it to rest")
    if others:
        sentence = f"other publishers on {topic}: {others}; expected this node alone"
        return Hindrance("not_alone", sentence)
    if busy:
        sentence = "a plan is being made; expected its end or ~/abort before a new goal"
        return Hindrance("busy", sentence)
    if not listened:
        sentence = f"nobody listens on {topic}; expected a simulator or a controller"
        return Hindrance("nobody_listens", sentence)
    return None
