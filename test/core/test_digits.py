"""Numbers in messages are distinct from the limits that they exceed."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.core import MOST_ROWS, distinct_digits, rounded_down, rounded_up, sampled


@pytest.mark.parametrize(
    ("value", "others", "shown"),
    [
        (3.2, (3.1416,), ["3.2", "3.1416"]),
        (np.pi, (3.1415926,), ["3.1415927", "3.1415926"]),
        (-np.pi, (-3.1415926, 3.1415926), ["-3.1415927", "-3.1415926", "3.1415926"]),
        (1.0 + 1e-9, (1.0,), ["1.000000001", "1"]),
        (1.0, (1.0, 2.0), ["1", "1", "2"]),
        (np.inf, (1.0,), ["inf", "1"]),
        (np.nextafter(1.0, 2.0), (1.0,), ["1.0000000000000002", "1"]),
    ],
)
def test_numbers_have_the_digits_that_distinguish_them(value, others, shown):
    assert distinct_digits(value, *others) == shown


@pytest.mark.parametrize("value", [1.5551599, 999999.6, 1e-7, 12345678.9, 3.0])
def test_bounds_in_messages_are_rounded_down(value):
    assert value * (1.0 - 1e-5) < rounded_down(value) <= value
    assert float(f"{rounded_down(value):.6g}") == rounded_down(value)


@pytest.mark.parametrize("duration", [1.149, 0.3333, 1.0, 7.77e3])
def test_the_period_in_the_message_is_accepted(duration):
    """Regression: it was rounded to nearest, and half of the reported periods were rejected."""
    with pytest.raises(md.ManipDynError, match="must be at least") as raised:
        sampled(1e-12, duration)
    period = float(str(raised.value).split("must be at least ")[1].split(" s")[0])
    assert sampled(period, duration) == period
    assert period == rounded_up(duration / MOST_ROWS, 2) < 1.1 * duration / MOST_ROWS


def test_a_slightly_exceeded_limit_differs_from_the_value():
    robot = md.load_robot("rr")
    with pytest.raises(md.ManipDynError, match=r"to 6\.28318531 rad, got 6\.28318533 rad"):
        md.simulate(robot, robot.q_max + 2e-8, np.zeros(2), np.zeros(2), 1.0)
    with pytest.raises(md.ManipDynError, match=r"moves at 20\.00001 rad/s .* limit is 20\.$"):
        md.plan_minimum_time(robot, np.zeros(2), np.ones(2), v0=[20.00001, 0.0])
