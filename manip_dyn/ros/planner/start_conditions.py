"""Conditions for the start of a new motion."""

from __future__ import annotations

from typing import NamedTuple

from manip_dyn.ros.planner.states import NOT_ALONE


class StartObstacle(NamedTuple):
    """Code and message of the reason why a motion cannot start."""

    code: str
    sentence: str


def start_obstacle(moving: str, connected: bool, topic: str, others: str) -> StartObstacle | None:
    """Return the first obstacle to a new motion, or None.

    Args:
        moving: Why a moving arm must not be stopped, or "".
        connected: Whether all effort topics have subscribers.
        topic: Name of the command topic.
        others: Names of other nodes that publish on the command topic, or "".
    """
    if moving:
        return StartObstacle("arm_moves", moving)
    if others:
        return StartObstacle("not_alone", NOT_ALONE.format(topic=topic, others=others))
    if not connected:
        sentence = f"{topic} has no subscriber; start a simulator or a controller"
        return StartObstacle("nobody_listens", sentence)
    return None
