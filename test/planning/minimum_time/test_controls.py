"""What efforts do along an arc."""

from manip_dyn.planning.minimum_time.extremals.controls import (
    SINGULAR,
    Control,
    Kind,
    at_position,
    boundary_control,
    contact,
    controls_after,
    full,
    is_smooth,
)


def test_an_effort_knows_which_joint_it_keeps():
    """Every control tells joint and side, and the direction of the push."""
    for effort in range(3):
        for joint in range(3):
            for side in (1.0, -1.0):
                for direction in (1.0, -1.0):
                    control = boundary_control(effort, joint, side, direction)
                    assert control.held_at_speed(effort) == (joint, side)
                    assert control.direction == (side if effort == joint else direction)
    point = Control(Kind.CONTACT_SPEED, 1.0)
    others = (full(-1.0), SINGULAR, full(1.0), at_position(1.0), at_position(-1.0), contact(1.0))
    assert all(each.held_at_speed(0) is None for each in (*others, point))


def test_who_is_relieved_pushes_on():
    """The effort that was keeping the joint goes to the limit at which it had arrived."""
    own, other = boundary_control(1, 1, -1.0, -1.0), boundary_control(0, 1, -1.0, 1.0)
    assert controls_after((full(-1.0), own), 0, other) == (other, full(-1.0))
    assert controls_after((other, full(1.0)), 1, own) == (full(1.0), own)
    elsewhere = boundary_control(0, 0, 1.0, 1.0)
    assert controls_after((elsewhere, full(1.0)), 1, own) == (elsewhere, own)
    assert is_smooth(full(-1.0), other)
    assert not is_smooth(full(1.0), other)
    assert is_smooth(other, full(1.0))
    assert not is_smooth(other, full(-1.0))
