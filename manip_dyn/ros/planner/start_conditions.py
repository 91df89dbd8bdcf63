"""What is in the way of a new motion."""

from __future__ import annotations

from typing import NamedTuple


class StartObstacle(NamedTuple):
    """A code for programs and a sentence for people."""

    code: str
    sentence: str


def start_obstacle(led: str, listened: bool, topic: str, others: str) -> StartObstacle | None:
    """Return what is in the way, or nothing.

    Args:
        led: Why an arm that moves is not to be stopped for it; empty if it may.
        listened: Whether somebody listens on all topics of efforts.
        topic: The name of the command topic.
        others: The names of other nodes that publish there.
    """
    if led:
        return StartObstacle("arm_moves", led)
    if others:
        sentence = f"other publishers on {topic}: {others}; expected this node alone"
        return StartObstacle("not_alone", sentence)
    if not listened:
        sentence = f"nobody listens on {topic}; expected a simulator or a controller"
        return StartObstacle("nobody_listens", sentence)
    return None
