"""Stiff mechanisms by the default method."""

import numpy as np
import pytest

import manip_dyn as md
from manip_dyn.multibody import FirstOrder

Z = (0, 0, 1)


def body(name, mass=1.0, inertia=(0.1, 0.1, 0.1), position=(0, 0, 0)):
    return md.MovingBody(name, mass, inertia, position=position)


ARM = body("arm", 3.0, (0.01, 1.0, 1.0), (1, 0, 0))


def bushing(stiffness, damping):
    """A link on a carriage on a rail, with springs across and along the rail."""
    return md.Mechanism(
        [body("rail"), body("carriage"), ARM],
        [
            md.Joint("translational", ("ground", "rail"), (0, 0, 0), (1, 0, 0)),
            md.Joint("translational", ("rail", "carriage"), (0, 0, 0), (0, 1, 0)),
            md.Joint("revolute", ("carriage", "arm"), (0, 0, 0), Z),
        ],
        [
            md.Spring(("ground", "rail"), [(-1, 0, 0), (0, 0, 0)], stiffness, damping),
            md.Spring(("rail", "carriage"), [(0, -1, 0), (0, 0, 0)], stiffness, damping),
        ],
        gravity=(0, -9.81, 0),
    )


def shaft(stiffness, damping):
    """A motor that carries two links through a torsional spring."""
    motor = body("motor", 1.0, (0.01, 0.01, 0.01))
    return md.Mechanism(
        [motor, ARM, body("forearm", 2.0, (0.01, 0.5, 0.5), (2.5, 0, 0))],
        [
            md.Joint("revolute", ("ground", "motor"), (0, 0, 0), Z),
            md.Joint("revolute", ("motor", "arm"), (0, 0, 0), Z),
            md.Joint("revolute", ("arm", "forearm"), (2, 0, 0), Z),
        ],
        [md.RotationalSpring(("motor", "arm"), Z, stiffness, damping)],
        gravity=(0, -9.81, 0),
    )


@pytest.mark.parametrize("mechanism", [bushing, shaft])
@pytest.mark.parametrize(("stiffness", "damping"), [(1e6, 1e3), (1e9, 1e3), (1e9, 1e5)])
def test_a_stiff_spring_does_not_determine_the_steps(mechanism, stiffness, damping):
    motion = md.simulate_mechanism(mechanism(stiffness, damping), 1.0)
    exact = md.simulate_mechanism(mechanism(stiffness, damping), 1.0, rtol=1e-9)
    assert motion.method == "rodas5p"
    assert motion.statistics.steps < 500
    assert np.abs(motion.q[-1] - exact.q[-1]).max() < 1e-5


def link_on_springs(pins):
    """A link whose end is held by three springs, which act on the last of the bodies."""
    bodies = [ARM, *pins]
    springs = [
        md.Spring(("ground", bodies[-1].name), [-axis, (0, 0, 0)], 1e9, 1e3) for axis in np.eye(3)
    ]
    joints = [md.Joint("spherical", ("arm", pin.name), (0, 0, 0)) for pin in pins]
    return md.Mechanism(bodies, joints, springs, gravity=(0, -9.81, 0))


def test_a_light_pin_saves_steps_if_springs_act_on_the_end_of_a_link():
    """The deflection is linear in the position of the pin, but not in that of the link."""
    pin = body("pin", 0.01, (0.01, 0.01, 0.01))
    direct, pinned = (md.simulate_mechanism(link_on_springs(p), 0.3) for p in ([], [pin]))
    assert pinned.statistics.steps < 0.3 * direct.statistics.steps
    assert np.abs(pinned.q[-1, :7] - direct.q[-1]).max() < 1e-5


def test_a_soft_spring_uses_the_method_with_fewer_evaluations():
    motion = md.simulate_mechanism(bushing(100.0, 1.0), 0.1)
    assert motion.method == "rosenbrock_nystrom"


def test_rates_are_finite_after_a_state_that_is_not():
    equations = FirstOrder(md.load_mechanism("four_bar"))
    y = equations.y0
    before, undefined, after = (
        equations(0.0, state) for state in (y, np.full_like(y, np.nan), y + 1e-9)
    )
    assert np.isnan(undefined[len(y) // 2 :]).all()
    assert after == pytest.approx(before, abs=1e-5)
