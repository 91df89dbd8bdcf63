"""The HMMWV of Sandu et al. (2001): constraints, fast eigenvalues, settled height."""

from collections import Counter

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.multibody import FirstOrder, Spring, Tyre, hmmwv, linearize, simulate_mechanism

CONSTRAINTS = {"translational": 5, "component": 1, "revolute": 5, "spherical": 3, "distance": 1}
STRUT_STIFFNESS, STRUT_DAMPING = 2e7, 2e6
"""Printed values, N/m and N s/m."""


@pytest.fixture(scope="module")
def car():
    return hmmwv()


def test_the_printed_joints_have_eighty_constraints(car):
    kinds = Counter(joint.kind for joint in car.joints)
    assert kinds == {
        "translational": 1,
        "component": 1,
        "revolute": 8,
        "spherical": 4,
        "distance": 8,
    }
    assert sum(CONSTRAINTS[kind] * count for kind, count in kinds.items()) + 14 == 80
    assert (len(car.bodies), car.size, car.constraints, car.freedoms) == (14, 98, 80, 18)
    assert np.linalg.matrix_rank(car.gradients(car.q0)) == 80
    assert car.redundant == ()


def test_a_step_to_a_state_that_cannot_be_assembled_is_repeated(car):
    """At 1.3 s the loose tolerance accepts such a step."""
    control = md.StepControl("paper", "rms")
    motion = simulate_mechanism(car, 4.0, rtol=1e-2, control=control)
    assert motion.success, motion.reason
    assert motion.q[-1, 2] == pytest.approx(car.q0[2], abs=5e-3)


def inverse_mass_at_struts(car):
    """Return J M^-1 J^T (4, 4) on the constraints, 1/kg, in all 98 coordinates.

    J contains the gradients of the lengths of the struts, by differences. The constraint forces
    follow from the equations with multipliers, without a partition.
    """
    mass, names = np.zeros((car.size, car.size)), [body.name for body in car.bodies]
    for k, body in enumerate(car.bodies):
        w, x, y, z = car.q0[7 * k + 3 : 7 * k + 7]
        lever = 2.0 * np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]])
        at = slice(7 * k + 3, 7 * k + 7)
        mass[7 * k : 7 * k + 3, 7 * k : 7 * k + 3] = body.mass * np.eye(3)
        mass[at, at] = lever.T @ np.diag(body.inertia[:3]) @ lever
    springs = [force for force in car.forces if isinstance(force, Spring)]
    struts = [spring for spring in springs if spring.stiffness > 0.0]

    def lengths(q):
        return np.array([np.linalg.norm(end(q, s, 1) - end(q, s, 0)) for s in struts])

    def end(q, strut, which):
        k = names.index(strut.bodies[which])
        body, x = car.bodies[k], q[7 * k : 7 * k + 7]
        arm = body.rotation.T @ (strut.points[which] - body.position)
        return x[:3] + Rotation.from_quat(np.roll(x[3:], -1)).apply(arm)

    steps = 1e-6 * np.eye(car.size)
    slopes = np.array([(lengths(car.q0 + s) - lengths(car.q0 - s)) / 2e-6 for s in steps]).T
    phi = car.gradients(car.q0)
    matrix = np.block([[mass, phi.T], [phi, np.zeros((80, 80))]])
    return slopes @ np.linalg.solve(matrix, np.vstack([slopes.T, np.zeros((80, 4))]))[:98]


def test_the_fast_eigenvalues_are_strut_damping_over_effective_mass(car):
    """Two roots of w (s C + K) + s^2 for each strut; tyres change them by less than 0.1 %."""
    inverse = np.linalg.eigvalsh(inverse_mass_at_struts(car))
    fast = [np.roots([1.0, STRUT_DAMPING * w, STRUT_STIFFNESS * w]).min() for w in inverse]
    eigenvalues = linearize(car).eigenvalues
    np.testing.assert_allclose(eigenvalues[:4].real, np.sort(fast), rtol=1e-3)
    assert np.abs(eigenvalues[:4].imag).max() == 0.0
    assert eigenvalues[4].real > -1.5e3  # nothing else is fast
    assert 1.0 / inverse[-1] == pytest.approx(2e6 / 2.6e5, rel=0.01)  # kg: printed C over lambda


def test_differences_of_the_right_hand_side_have_the_same_eigenvalues(car):
    rhs, d = FirstOrder(car), 1e-7
    columns = [(rhs(0.0, rhs.y0 + s) - rhs(0.0, rhs.y0 - s)) / (2 * d) for s in d * np.eye(36)]
    fast = np.sort(np.linalg.eigvals(np.transpose(columns)).real)[:4]
    np.testing.assert_allclose(fast, linearize(car).eigenvalues[:4].real, rtol=1e-5)


def test_the_car_settles_at_the_printed_height_and_satisfies_its_constraints(car):
    motion = simulate_mechanism(car, 4.0, rtol=1e-3)
    assert motion.success, motion.reason
    assert motion.violation < 1e-10
    height = motion.q[:, 2]
    assert height[-1] == pytest.approx(0.71, abs=5e-3)
    assert height.max() > height[-1] + 0.02  # the car crossed the bump
    assert np.ptp(height[motion.t > 3.5]) < 1e-4
    lengths = np.diff(motion.t)[:-1]  # without the last step, which ends at 4 s
    assert lengths[motion.t[1:-1] > 3.0].min() > 10 * np.median(lengths[motion.t[1:-1] < 1.6])
    assert set(car.switches) <= set(motion.t)


def test_the_car_starts_in_a_stable_equilibrium_on_its_tyres(car):
    """Shock absorbers damp the motions that the printed forces do not damp."""
    rest = car.equilibrium()
    np.testing.assert_array_equal(rest.q, car.q0)
    assert rest.stable
    names = [body.name for body in car.bodies]
    tyres = [force for force in car.forces if isinstance(force, Tyre)]
    lifts = [t.stiffness * (t.radius - car.q0[7 * names.index(t.body) + 2]) for t in tyres]
    weight = 9.81 * sum(body.mass for body in car.bodies)
    assert sum(lifts) == pytest.approx(weight, rel=1e-9)
    moving = rest.eigenvalues[np.abs(rest.eigenvalues) > 1e-3]
    assert len(moving) == 32  # the car is free to translate and to yaw
    assert moving.real.max() < -3.0
    bare = hmmwv(damped=False).equilibrium()
    free = bare.eigenvalues[np.abs(bare.eigenvalues.imag) > 50.0]
    assert len(free) == 16  # lower arms and spindles, 9 to 11 Hz
    assert -0.1 < free.real.min() < free.real.max() < 0.0
    np.testing.assert_allclose(bare.q, car.q0, atol=1e-8)  # dampers exert no force at rest
