"""What is read between two arcs of an effort, from its values at nodes."""

import numpy as np
import pytest

from manip_dyn.planning.minimum_time.extremals.controls import at_position, boundary_control, full
from manip_dyn.planning.minimum_time.structure_detection.effort_transitions import (
    EffortTransitions,
)

UP, DOWN = full(1.0), full(-1.0)
REST, FAST, ANOTHER = (
    at_position(1.0),
    boundary_control(0, 0, 1.0, 1.0),
    boundary_control(0, 1, 1.0, -1.0),
)
CASES = {
    "a switch is where the effort is zero": (
        [1, 1, 0.2, -0.6, -1],
        UP,
        DOWN,
        2,
        4,
        [(2.25, DOWN)],
    ),
    "a dip is nothing": ([1, 1, 0.9, 1, 1], UP, UP, 2, 3, []),
    "a pulse has the same impulse": ([1, 1, 0, -1, 0, 1], UP, UP, 2, 5, [(2, DOWN), (4, UP)]),
    "it is braked before it rests": (
        [1, 1, -0.9, -0.8, 0.5, 0.5],
        *(UP, REST, 2, 4),
        [(1.5, DOWN), (4, REST)],
    ),
    "it is pushed off": ([0.5, 0.5, -0.9, -0.8, 1], REST, UP, 2, 4, [(1.5, DOWN), (3.5, UP)]),
    "it comes to a limit of speed by a switch": (
        [-1, -1, 0.9, 0.8, 0.9, 0.5],
        *(DOWN, FAST, 2, 5),
        [(1.5, UP), (5, FAST)],
    ),
    "too brief for a switch": ([-1, -1, 0.9, 0.5], DOWN, FAST, 2, 3, [(2, FAST)]),
    "it leaves a limit of speed by a switch": (
        [0.5, 0.5, 0.6, 0.7, 0.6, -1, -1],
        *(ANOTHER, DOWN, 2, 5),
        [(1.5, UP), (4.5, DOWN)],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_what_an_effort_does_between_two_arcs(case):
    shares, before, after, end, begin, expected = CASES[case]
    found = EffortTransitions(np.array(shares, dtype=float)).between(before, after, end, begin)
    assert [control for _, control in found] == [control for _, control in expected]
    assert [node for node, _ in found] == pytest.approx([node for node, _ in expected])
