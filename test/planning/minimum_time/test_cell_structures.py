"""Detection of structures in efforts on cells."""

import numpy as np
import pytest

from manip_dyn.planning import (
    BoundaryArc,
    Control,
    Kind,
    boundary_control,
    detected_structure,
    effort_signs,
)

FAST, BACK = boundary_control(0, 0, 1.0, 1.0), boundary_control(0, 0, -1.0, -1.0)
FAR = Control(Kind.POSITION, 1.0)
UP, DOWN = Control(Kind.FULL, 1.0), Control(Kind.FULL, -1.0)


@pytest.mark.parametrize(
    ("arcs", "signs", "rows"),
    [
        ([(0, 3, FAST)], [1.0, 1.0], [(0.0, FAST), (3.1, DOWN)]),
        ([(4, 6, BACK)], [1.0, 1.0], [(3.0, DOWN), (3.9, BACK)]),
        ([(1, 3, FAST), (3, 4, FAR)], [1.0, 1.0], [(0.9, FAST), (3.0, FAR), (4.1, DOWN)]),
        ([(1, 4, FAST), (3, 5, FAR)], [1.0, 1.0], [(0.9, FAST), (4.0, FAR), (5.1, DOWN)]),
    ],
)
def test_boundary_arcs_may_start_at_time_zero_and_be_adjacent(arcs, signs, rows):
    u = np.array([[1.0, 1.0]] * 3 + [[-1.0, 1.0]] * 3)
    switching = detected_structure(u, 6.0, [BoundaryArc(0, *arc) for arc in arcs])
    assert effort_signs(switching.controls).tolist() == signs
    assert switching.joints == (0,) * len(rows)
    assert switching.times == pytest.approx([t for t, _ in rows])
    assert switching.values == tuple(value for _, value in rows)


def test_switches_have_the_impulse_of_the_efforts():
    u = np.array([[1.0, -1], [1, -0.5], [0, -1], [-1, 1], [-1, 1], [-1, 1]])
    switching = detected_structure(u, 6.0)
    assert switching.controls == (UP, DOWN)
    first, second = switching.per_joint()
    assert first == pytest.approx([2.5])
    assert second == pytest.approx([1.375, 1.625, 3.0])
