"""Contact points and boundary arcs read off the multipliers of limits of position."""

import numpy as np
import pytest

from manip_dyn.planning.minimum_time.structure_detection.contact_points import (
    ContactPattern,
    contacts_of,
)

NODES = np.arange(200)


def peak(node, height, width):
    return height / (1.0 + ((NODES - node) / width) ** 2)


def test_peaks_are_contact_points():
    push = peak(60, 5.0, 4.0) + peak(140, 2.0, 4.0)
    assert contacts_of(push, 40, 160, ContactPattern.CONTACTS) == ([60, 140], None)


def test_without_a_valley_there_is_one_contact_point():
    push = peak(60, 1.0, 60.0) + peak(85, 1.1, 60.0)
    ((node,), arc) = contacts_of(push, 40, 160, ContactPattern.CONTACTS)
    assert arc is None
    assert push[node] == push.max()


@pytest.mark.parametrize(
    ("touching", "contacts", "arc"),
    [
        (ContactPattern.ARC_THEN_CONTACT, [140], (60, 128)),
        (ContactPattern.CONTACT_THEN_ARC, [60], (72, 140)),
        (ContactPattern.ARC_BETWEEN, [], (72, 128)),
    ],
)
def test_a_boundary_arc_keeps_its_distance(touching, contacts, arc):
    push = peak(60, 5.0, 4.0) + peak(140, 2.0, 4.0)
    assert contacts_of(push, 40, 160, touching) == (contacts, arc)


def test_a_single_peak_is_a_contact_point_always():
    push = peak(100, 1.0, 5.0)
    for touching in (ContactPattern.ARC_THEN_CONTACT, ContactPattern.ARC_BETWEEN):
        assert contacts_of(push, 90, 110, touching) == ([100], None)
