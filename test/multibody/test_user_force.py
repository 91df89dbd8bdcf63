"""User-defined forces: derivatives, Newton's third law, equivalence with a tyre."""

from fractions import Fraction

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.codegen import sine
from manip_dyn.multibody import (
    FirstOrder,
    Joint,
    Mechanism,
    MovingBody,
    Tyre,
    UserForce,
    linearize,
    simulate_mechanism,
)

PAIR = ("a", "b")
BY_POSITION, BY_VELOCITY, BY_TIME = 14, 14 + 14**2, 14 + 2 * 14**2
"""Offsets of the derivatives behind the generalized force (14,)."""


class Exact:
    """A rational number; floats are converted exactly."""

    def __init__(self, value):
        self.value = Fraction(getattr(value, "value", value))

    def __float__(self):
        return float(self.value)

    def __neg__(self):
        return Exact(-self.value)


def _operation(name):
    def apply(self, operand):
        return Exact(getattr(self.value, name)(Exact(operand).value))

    return apply


for _name in ("add", "sub", "mul", "truediv"):
    for _method in (f"__{_name}__", f"__r{_name}__"):
        setattr(Exact, _method, _operation(_method))


def coupled(t, first, second):
    """A rational force and moment that depend on all arguments."""
    offset = [b - a for a, b in zip(first.position, second.position, strict=True)]
    speed = [b - a for a, b in zip(first.velocity, second.velocity, strict=True)]
    square = sum((component * component for component in offset), 1)
    force = [
        5 * w / square - s * s * s + t * first.rotation[0][k]
        for k, (w, s) in enumerate(zip(offset, speed, strict=True))
    ]
    spin = zip(first.angular_velocity, second.angular_velocity, strict=True)
    return force, [u * t - w * second.rotation[2][1] for u, w in spin]


def test_derivatives_match_exact_differences():
    """Differences in rational arithmetic with steps of 1e-25 have 50 correct digits."""
    rng = np.random.default_rng(3)
    force, t, d = UserForce(PAIR, coupled), Exact(0.4375), Exact(Fraction(1, 10**25))
    x, v = ([Exact(float(k) / 64) for k in rng.integers(-99, 99, 14)] for _ in range(2))
    results = force.evaluated(float(t), [float(k) for k in x], [float(k) for k in v])
    value = force.generalized(t, x, v)
    np.testing.assert_allclose(results[:BY_POSITION], [float(k) for k in value], rtol=1e-13)

    def slope(which, index):
        ends = []
        for sign in (1, -1):
            arguments = {"t": t, "x": list(x), "v": list(v)}
            if which == "t":
                arguments["t"] += sign * d
            else:
                arguments[which][index] += sign * d
            ends.append(force.generalized(**arguments))
        return [float((high - low) / (2 * d)) for high, low in zip(*ends, strict=True)]

    for which, first, last in (("x", BY_POSITION, BY_VELOCITY), ("v", BY_VELOCITY, BY_TIME)):
        expected = np.transpose([slope(which, k) for k in range(14)])
        matrix = results[first:last].reshape(14, 14)
        np.testing.assert_allclose(matrix, expected, rtol=1e-12, atol=1e-12 * abs(expected).max())
    np.testing.assert_allclose(results[BY_TIME:], slope("t", 0), rtol=1e-12, atol=1e-13)


def test_action_and_reaction_do_no_work_on_a_common_motion():
    """The bodies translate and rotate together as one rigid body."""
    rng = np.random.default_rng(5)
    x, v = rng.normal(size=(2, 14))
    for k in (3, 10):
        x[k : k + 4] /= np.linalg.norm(x[k : k + 4])
    force = UserForce(PAIR, coupled).evaluated(0.4, x, v)[:14]
    assert np.abs(force).max() > 1.0
    shift, turn = rng.normal(size=(2, 3))
    motion = np.zeros(14)
    for k in (0, 7):
        w, e = x[k + 3], x[k + 4 : k + 7]
        motion[k : k + 3] = shift + np.cross(turn, x[k : k + 3])
        motion[k + 3] = -0.5 * turn @ e
        motion[k + 4 : k + 7] = 0.5 * (w * turn + np.cross(turn, e))
    assert force @ motion == pytest.approx(0.0, abs=1e-12)


def wheel_with(force):
    """Return a wheel on a rotating arm, supported by a force."""
    bodies = [
        MovingBody("arm", 3.0, (0.1, 0.4, 0.4), (0.5, 0, 0.5)),
        MovingBody("wheel", 5.0, (0.2, 0.3, 0.2), (1.0, 0, 0.5), velocity=(0, 0, 0.0)),
    ]
    joints = [
        Joint("revolute", ("ground", "arm"), (0, 0, 0.5), (0, 1, 0)),
        Joint("revolute", ("arm", "wheel"), (1.0, 0, 0.5), (0, 1, 0)),
    ]
    return Mechanism(bodies, joints, [force])


def test_a_user_force_can_replace_a_tyre():
    def spring(t, ground, wheel):
        push = -900.0 * (wheel.position[2] - 0.45) - 30.0 * wheel.velocity[2]
        return [0.0, 0.0, push], [0.0, 0.0, 0.0]

    forces = (
        Tyre("wheel", (1.0, 0, 0.5), 0.45, 900.0, 30.0),
        UserForce(("ground", "wheel"), spring),
    )
    expected, results = (linearize(wheel_with(force)) for force in forces)
    for result, reference in zip(results, expected, strict=True):
        np.testing.assert_allclose(result, reference, rtol=1e-10, atol=1e-10)
    ends = [simulate_mechanism(wheel_with(force), 0.3, rtol=1e-8) for force in forces]
    np.testing.assert_allclose(ends[0].q[-1], ends[1].q[-1], atol=1e-7)


def test_the_linearization_includes_user_forces():
    """J1, J2 and the derivative by time match differences of the accelerations."""

    def wind(t, ground, wheel):
        gust = 4.0 + 3.0 * sine(5.0 * t) - wheel.velocity[0]
        return [gust * gust, 0.0, 2.0 * gust], [0.0, -0.5 * wheel.angular_velocity[1] * gust, 0.0]

    mechanism = wheel_with(UserForce(("ground", "wheel"), wind))
    free = np.linalg.svd(mechanism.gradients(mechanism.q0))[2][mechanism.constraints :]
    mechanism = mechanism.starting_at(mechanism.q0, free.T @ [0.7, -1.3])
    t, n, d = 0.13, mechanism.freedoms, 1e-5
    exact = linearize(mechanism, t)

    def accelerations(t, y):
        return FirstOrder(mechanism)(t, y)[n:]

    for k, step in enumerate(d * np.eye(2 * n)):
        slope = (accelerations(t, exact.y + step) - accelerations(t, exact.y - step)) / (2 * d)
        column = exact.by_position[:, k] if k < n else exact.by_velocity[:, k - n]
        np.testing.assert_allclose(column, slope, rtol=1e-6, atol=1e-6)
    slope = (accelerations(t + d, exact.y) - accelerations(t - d, exact.y)) / (2 * d)
    np.testing.assert_allclose(exact.by_time, slope, rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda t, a, b: [0.0, 0.0, 0.0],
        lambda t, a, b: ([0.0, 0.0], [0.0, 0.0, 0.0]),
        lambda t, a, b: ([0.0, 0.0, 0.0], [0.0, 0.0, np.sqrt(a.position[0])]),
        lambda t, a, b: ([0.0, 0.0, a.position[0] ** 2], [0.0, 0.0, 0.0]),
        lambda t, a, b: ([0.0, 0.0, np.nan], [0.0, 0.0, 0.0]),
        lambda t: ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0]),
        "drag",
    ],
)
def test_invalid_functions_are_rejected(function):
    with pytest.raises(md.ManipDynError, match="user force a-b"):
        UserForce(PAIR, function)
