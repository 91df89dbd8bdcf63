"""Equilibria of mechanisms: comparison with statics, and the linear motion about them."""

import numpy as np
import pytest
from scipy.optimize import brentq, minimize_scalar

import manip_dyn as md
from manip_dyn.multibody import (
    Joint,
    JointCoordinates,
    Mechanism,
    MovingBody,
    RotationalSpring,
    Spring,
)

Z = (0.0, 0.0, 1.0)


def arm(angle, forces=()):
    """Return an arm of 3 kg with its centre of mass 1 m from its pin."""
    c, s = np.cos(angle), np.sin(angle)
    turn = (np.cos(angle / 2), 0, 0, np.sin(angle / 2))
    body = MovingBody("arm", 3.0, (0.01, 1.0, 1.0), (c, s, 0.0), turn)
    return Mechanism(
        [body], [Joint("revolute", ("ground", "arm"), (0, 0, 0), Z)], forces, (0, -9.81, 0)
    )


@pytest.mark.parametrize("rest", [0.5, 9.0])  # the second is more than a turn away
def test_the_moments_on_an_arm_with_a_spring_balance(rest):
    point = arm(0.0, [RotationalSpring(("ground", "arm"), Z, 60.0, 1.0, rest)]).equilibrium()
    angle = brentq(lambda a: 60.0 * (a - rest) + 3 * 9.81 * np.cos(a), rest - 1, rest + 1)
    np.testing.assert_allclose(point.q[:2], [np.cos(angle), np.sin(angle)], atol=1e-9)
    assert point.stable
    assert point.acceleration < 1e-9
    assert point.iterations < 300
    if rest < np.pi:  # angles still count from the assembly
        motion = md.simulate_mechanism(point.mechanism, 0.5)
        np.testing.assert_allclose(motion.q[-1], point.q, atol=1e-6)
        rate = np.roots([4.0, 1.0, 60.0 - 3 * 9.81 * np.sin(angle)])
        np.testing.assert_allclose(np.sort(point.eigenvalues), np.sort(rate), rtol=1e-6)


def test_an_unstable_equilibrium_is_found_only_if_it_is_the_start():
    upright = arm(np.pi / 2).equilibrium()
    assert (upright.iterations, upright.stable) == (0, False)
    assert upright.eigenvalues.real.max() == pytest.approx(np.sqrt(3 * 9.81 / 4), rel=1e-9)
    hanging = arm(np.pi / 2 - 0.01).equilibrium()
    assert hanging.stable
    np.testing.assert_allclose(hanging.q[:2], [0.0, -1.0], atol=1e-8)


def test_the_equilibrium_of_a_closed_loop_minimizes_its_potential_energy():
    """A slider-crank with a spring, in the angle of its crank."""
    r, length, k = 0.5, 1.2, 40.0

    def geometry(angle):
        pin = np.array([r * np.cos(angle), r * np.sin(angle), 0.0])
        lean = -np.arcsin(pin[1] / length)
        return pin, lean, pin[0] + length * np.cos(lean)

    pin, lean, x = geometry(0.7)
    end = np.array([x, 0.0, 0.0])
    bodies = [
        MovingBody("crank", 2.0, (1e-3, 0.05, 0.05), 0.5 * pin, about(0.7)),
        MovingBody("rod", 1.0, (1e-3, 0.1, 0.1), 0.5 * (pin + end), about(lean)),
        MovingBody("slider", 3.0, (0.1, 0.1, 0.1), end),
    ]
    joints = [
        Joint("revolute", ("ground", "crank"), (0, 0, 0), Z, "pin"),
        Joint("revolute", ("crank", "rod"), pin, Z),
        Joint("revolute", ("rod", "slider"), end, Z),
        Joint("translational", ("ground", "slider"), end, (1, 0, 0), "guide"),
    ]
    spring = Spring(("ground", "slider"), [(3.0, 0, 0), end], k, length=1.0)
    mechanism = Mechanism(bodies, joints, [spring], (0, -9.81, 0))

    def energy(angle):
        pin, _, x = geometry(angle)
        return 9.81 * (2.0 + 1.0) * 0.5 * pin[1] + 0.5 * k * (3.0 - x - 1.0) ** 2

    point = mechanism.equilibrium(tolerance=1e-10)
    angle = minimize_scalar(energy, bounds=(-np.pi / 2, 0.7), method="bounded").x
    assert point.stable
    np.testing.assert_allclose(point.q[14], geometry(angle)[2], atol=1e-5)
    joint = dict(zip(*coordinates(point.mechanism), strict=True))  # relative to the assembly
    assert joint["pin"] == pytest.approx(angle - 0.7, abs=1e-4)
    assert joint["guide"] == pytest.approx(point.q[14] - x, abs=1e-9)


def about(angle):
    return (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))


def coordinates(mechanism):
    joints = JointCoordinates(mechanism)
    return joints.names, joints(mechanism.q0, mechanism.v0)[0]


def test_a_mechanism_without_an_equilibrium_is_reported():
    body = MovingBody("stone", 1.0, (1, 1, 1))
    guide = Joint("translational", ("ground", "stone"), (0, 0, 0), Z)
    with pytest.raises(
        md.ManipDynError, match=r"no equilibrium was found: .* acceleration is 9.81"
    ):
        Mechanism([body], [guide]).equilibrium()
    with pytest.raises(md.ManipDynError, match="tolerance"):
        arm(0.0).equilibrium(tolerance=0)
