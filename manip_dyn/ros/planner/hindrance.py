"""What is in the way of a new motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manip_dyn.ros.planner.measured import Measured


class Hindrance(NamedTuple):
    """A code for programs and a sentence for people."""

    code: str
    sentence: str


def hindrance(
    measured: Measured, rest_speed: float, busy: bool, listened: bool, topic: str
) -> Hindrance | None:
    """Return what is in the way, or nothing.

    Args:
        measured: The arm's newest state.
        rest_speed: Joint speed up to which the arm counts as resting, rad/s or m/s.
        busy: Whether a plan is being made.
        listened: Whether somebody listens on all topics of efforts.
        topic: The name of the command topic.
    """
    fastest = float(np.abs(measured.v).max())
    if fastest > rest_speed:
        return Hindrance(
            "arm_moves",
            f"the arm moves at up to {fastest:.3g} rad/s or m/s; a new motion expects it to rest "
            f"(rest_speed {rest_speed:g})",
        )
    if busy:
        sentence = "a plan is being made; expected its end or ~/abort before a new goal"
        return Hindrance("busy", sentence)
    if not listened:
        sentence = f"nobody listens on {topic}; expected a simulator or a controller"
        return Hindrance("nobody_listens", sentence)
    return None
