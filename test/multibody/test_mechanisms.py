"""Constrained mechanisms: derivatives, consistency, known mechanisms, energy, bad input."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn.bench.stiff import DURATION, START
from manip_dyn.multibody import (
    Joint,
    Mechanism,
    MechanismSimulation,
    MovingBody,
    RotationalSpring,
    Spring,
    Tyre,
    simulate_mechanism,
)
from manip_dyn.multibody.equations.partition import partition
from manip_dyn.multibody.equations.primitives import PRIMITIVES, evaluate_kernel, primitive_address
from manip_dyn.multibody.equations.state_space import linearized_rates
from manip_dyn.multibody.first_order import simulate_by_adams
from manip_dyn.multibody.model.elements import JOINTS, JointKind
from manip_dyn.multibody.model.hmmwv import hmmwv
from manip_dyn.multibody.model.linearization import linearize, prepare_memory
from manip_dyn.multibody.model.mechanism import joint_rows

Z = (0.0, 0.0, 1.0)


def about_z(angle):
    return (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))


def rod(name, start, end, mass=1.0, velocity=(0.0, 0.0, 0.0), spin=0.0):
    """Return a slender rod in the x-y plane."""
    start, end = np.array(start), np.array(end)
    along = end - start
    length = np.linalg.norm(along)
    inertia = (1e-3 * mass * length**2, mass * length**2 / 12, mass * length**2 / 12)
    angle = np.arctan2(along[1], along[0])
    return MovingBody(
        name, mass, inertia, 0.5 * (start + end), about_z(angle), velocity, (0, 0, spin)
    )


def stiff_pendulum():
    """Return the pendulum of Sandu et al. (2001), section 5.1, as Cartesian bodies."""
    angle = 23 * np.pi / 12
    out = np.array([np.cos(angle), np.sin(angle), 0.0])
    side = np.array([-np.sin(angle), np.cos(angle), 0.0])
    bodies = [
        MovingBody("first", 3.0, (0.01, 1.0, 1.0), (1.0, 0.0, 0.0)),
        MovingBody(
            "second",
            0.3,
            (0.001, 0.225, 0.225),
            [2.0, 0.0, 0.0] + 1.5 * out,
            about_z(angle),
            15.0 * side,
            (0.0, 0.0, 10.0),
        ),
    ]
    joints = [
        Joint("revolute", ("ground", "first"), (0, 0, 0), Z),
        Joint("revolute", ("first", "second"), (2, 0, 0), Z),
    ]
    forces = [
        RotationalSpring(("ground", "first"), Z, 400.0, 15.0, -np.pi / 2),
        RotationalSpring(("first", "second"), Z, 3e5, 5e4, np.pi / 12),
    ]
    return Mechanism(bodies, joints, forces, (0.0, -9.81, 0.0))


def four_bar():
    """Return a planar four-bar; spherical and universal joints leave no constraint twice."""
    a, b, c, d = (0, 0, 0), (0.3, 1.0, 0), (2.3, 1.6, 0), (2.0, 0, 0)
    bodies = [rod("crank", a, b, 2.0), rod("coupler", b, c, 3.0), rod("rocker", c, d, 2.5)]
    joints = [
        Joint("revolute", ("ground", "crank"), a, Z),
        Joint("revolute", ("crank", "coupler"), b, Z),
        Joint("distance", ("coupler", "rocker"), [c, np.add(c, (0, 0.4, 0))]),
        Joint("revolute", ("ground", "rocker"), d, Z),
    ]
    return Mechanism(bodies, joints, (), (0.0, -9.81, 0.0))


def random_mechanism(seed):
    """Return a moving spatial mechanism of all joints and forces, in a random posture."""
    rng = np.random.default_rng(seed)
    turns = rng.normal(size=(5, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, np.newaxis]
    places = rng.normal(size=(5, 3)) + np.arange(5)[:, np.newaxis]
    names = [f"b{k}" for k in range(5)]
    bodies = [
        MovingBody(name, rng.uniform(0.5, 3), rng.uniform(1, 1.5, 3), place, turn)
        for name, place, turn in zip(names, places, turns, strict=True)
    ]
    x, y = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2]
    hinge = rng.normal(size=3)
    joints = [
        Joint("revolute", ("ground", "b0"), places[0] + rng.normal(size=3), hinge),
        Joint("universal", ("b0", "b1"), places[1] + rng.normal(size=3), [x, y]),
        Joint("translational", ("b1", "b2"), places[2], rng.normal(size=3)),
        Joint("spherical", ("b2", "b3"), places[3] + rng.normal(size=3)),
        Joint("distance", ("b3", "ground"), rng.normal(size=(2, 3))),
        Joint("component", ("b0", "b3"), rng.normal(size=(2, 3)), rng.normal(size=3)),
        Joint("fixed", ("b3", "b4"), places[4]),
    ]
    forces = [
        Spring(("b1", "b3"), rng.normal(size=(2, 3)), 50.0, 4.0, 0.7, 3.0),
        Spring(("ground", "b2"), rng.normal(size=(2, 3)), 20.0, 1.0),
        RotationalSpring(("ground", "b0"), hinge, 30.0, 2.0, 0.4, 1.0),
        Tyre("b2", rng.normal(size=3), 0.4, 300.0, 10.0, 0.05, 4.0, 0.0),
    ]
    mechanism = Mechanism(bodies, joints, forces)
    free = np.linalg.svd(mechanism.gradients(mechanism.q0))[2][mechanism.constraints :]
    return mechanism.starting_at(mechanism.q0, free.T @ rng.normal(size=len(free)))


# -------------------------------------------------------------------- derivatives
@pytest.mark.parametrize("order", [0, 1, 2])
def test_primitives_derivatives_are_those_of_their_values(order):
    """Each order against central differences of the one below."""
    rng, d = np.random.default_rng(order), 1e-6
    for kind, primitive in enumerate(PRIMITIVES):
        values, rates, all_of_it = (primitive_address(kind, k) for k in range(3))
        x, v, a = rng.normal(size=(3, 14))
        r, out = rng.normal(size=12), np.zeros(239)
        evaluate_kernel(all_of_it, x, v, a, r, out)
        if order == 0:
            wanted = slopes_of(lambda x, f=primitive, r=r: f(list(x), r), x, d)
            np.testing.assert_allclose(out[1:15], wanted, atol=1e-7)
        elif order == 1:
            high, low = np.zeros(15), np.zeros(15)
            evaluate_kernel(values, x + d * v, v, a, r, high)
            evaluate_kernel(values, x - d * v, v, a, r, low)
            np.testing.assert_allclose(out[15:29], (high - low)[1:] / (2 * d), atol=1e-6)
            np.testing.assert_allclose(out[43:].reshape(14, 14) @ v, out[15:29], atol=1e-12)
        else:

            def acceleration(x, kernel=rates, v=v, a=a, r=r):
                out = np.zeros(29)
                evaluate_kernel(kernel, x, v, a, r, out)
                return out[15:] @ v + out[1:15] @ a

            np.testing.assert_allclose(out[29:43], slopes_of(acceleration, x, d), atol=1e-6)


def slopes_of(function, x, d):
    return [(function(x + d * e) - function(x - d * e)) / (2 * d) for e in np.eye(len(x))]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_j1_and_j2_are_the_derivatives_of_the_accelerations(seed):
    """At random consistent states of random mechanisms, by differences of order 8."""
    mechanism = random_mechanism(seed)
    t, n = 0.02, mechanism.freedoms
    assert n == 5
    exact = linearize(mechanism, t)
    matrix = np.hstack([exact.by_position, exact.by_velocity])
    wanted = np.zeros_like(matrix)
    weights = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
    for column in range(2 * n):
        for k, weight in enumerate(weights, start=1):
            for sign in (1.0, -1.0):
                y = exact.y.copy()
                y[column] += sign * k * 2e-3
                wanted[:, column] += sign * weight * acceleration(mechanism, t, y) / 2e-3
    scale = np.abs(matrix).max()
    np.testing.assert_allclose(matrix, wanted, atol=1e-8 * scale)
    steps = [acceleration(mechanism, t + s, exact.y) for s in (1e-5, -1e-5)]
    np.testing.assert_allclose(exact.by_time, (steps[0] - steps[1]) / 2e-5, rtol=1e-5, atol=1e-5)


def acceleration(mechanism, t, y):
    """Return the accelerations (n,) of the independent coordinates by other means than J1."""
    memory, _ = prepare_memory(mechanism, mechanism.q0, mechanism.v0, mechanism.partition)
    n = mechanism.freedoms
    linearized_rates(t, y, memory, np.zeros((n, 3 * n)), np.zeros(n))
    return memory.tables.reduced.acceleration


def test_accelerations_solve_the_equations_with_multipliers():
    """Eq. 3 of Sandu et al. (2001), assembled by numpy with derivatives by differences."""
    mechanism = four_bar()
    found = linearize(mechanism)
    memory, y = prepare_memory(mechanism, mechanism.q0, mechanism.v0, mechanism.partition)
    n = mechanism.freedoms
    linearized_rates(0.0, y, memory, np.zeros((n, 3 * n)), np.zeros(n))
    a = memory.tables.motion.a[: mechanism.size]
    assert np.abs(mechanism.gradients(mechanism.q0) @ a).max() < 1e-12  # at rest
    work = sum(
        body.mass * (a[7 * k : 7 * k + 3] @ (a[7 * k : 7 * k + 3] - mechanism.gravity))
        for k, body in enumerate(mechanism.bodies)
    )
    turning = sum(
        4.0 * body.inertia[2] * (a[7 * k + 3 : 7 * k + 7] @ a[7 * k + 3 : 7 * k + 7])
        for k, body in enumerate(mechanism.bodies)
    )
    assert work + turning == pytest.approx(0.0, abs=1e-9)  # d'Alembert
    assert found.acceleration.shape == (n,)


# --------------------------------------------------------------------- mechanisms
@pytest.fixture(scope="module")
def reference():
    """Return the pendulum's final joint state by an explicit method that resolves it."""
    robot = md.load_robot("stiff_pendulum")
    return md.integrate(
        md.customize(robot).right_hand_side,
        (0.0, DURATION),
        START,
        method="rk8",
        step=5e-6,
        p=np.zeros(2),
        sampling=[DURATION],
    ).y_last


def test_the_cartesian_pendulum_is_the_robot(reference):
    motion = simulate_mechanism(stiff_pendulum(), DURATION, rtol=1e-8)
    assert motion.success
    assert motion.violation < 1e-10
    assert motion.partitions > 1
    q, v = motion.q[-1], motion.v[-1]
    angles = [2.0 * np.arctan2(q[k + 3], q[k]) for k in (3, 10)]
    rates = [2.0 * (q[k] * v[k + 3] - q[k + 3] * v[k]) for k in (3, 10)]
    turn = (angles[0] - reference[0] + np.pi) % (2 * np.pi) - np.pi
    assert abs(turn) < 1e-7
    assert np.sin(angles[1] - angles[0] - reference[1]) == pytest.approx(0.0, abs=1e-7)
    assert rates[0] == pytest.approx(reference[2], abs=1e-6)


def turning_arm(axis=Z, rest=0.0):
    """Return an arm on a weak spring that turns by more than a turn each way."""
    spin = {"velocity": (0, 12, 0), "angular_velocity": (0, 0, 12)}
    return Mechanism(
        [MovingBody("arm", 3.0, (0.01, 1.0, 1.0), (1, 0, 0), **spin)],
        [Joint("revolute", ("ground", "arm"), (0, 0, 0), Z)],
        [RotationalSpring(("ground", "arm"), axis, 2.0, 0.1, rest)],
        (0, -9.81, 0),
    )


@pytest.mark.parametrize("rest", [0.0, 4.0])
def test_a_rotational_spring_counts_turns(rest):
    """Against one angle by scipy: at once, in periods, and by Adams methods."""

    def rates(_t, y):
        return [y[1], (-2.0 * (y[0] - rest) - 0.1 * y[1] - 3 * 9.81 * np.cos(y[0])) / 4.0]

    path = solve_ivp(rates, (0, 3), [0, 12], "DOP853", rtol=1e-11, atol=1e-11).y
    angle = path[0, -1]
    assert np.ptp(path[0]) > 2.5 * np.pi
    motion = simulate_mechanism(turning_arm(rest=rest), 3.0, rtol=1e-8)
    assert motion.partitions > 1
    periods = MechanismSimulation(turning_arm(rest=rest), rtol=1e-8)
    for _ in range(2):  # the second time after a reset
        periods.reset()
        for k in range(1, 31):
            periods.advance_to(0.1 * k)
    adams = simulate_by_adams(turning_arm(rest=rest), 3.0, rtol=1e-9)
    for q in (motion.q[-1], periods.q, adams.q[-1]):
        np.testing.assert_allclose(q[:2], [np.cos(angle), np.sin(angle)], atol=2e-6)


def test_the_four_bar_keeps_its_energy_and_its_joints():
    mechanism = four_bar()
    motion = simulate_mechanism(mechanism, 2.0, rtol=1e-8)
    assert motion.success
    assert motion.violation < 1e-10
    energies = [energy(mechanism, q, v) for q, v in zip(motion.q, motion.v, strict=True)]
    assert np.ptp(energies) < 1e-5 * np.ptp([potential(mechanism, q) for q in motion.q])


def energy(mechanism, q, v):
    total = potential(mechanism, q)
    for k, body in enumerate(mechanism.bodies):
        e, rate = q[7 * k + 3 : 7 * k + 7], v[7 * k + 3 : 7 * k + 7]
        lever = np.array(
            [[-e[1], e[0], e[3], -e[2]], [-e[2], -e[3], e[0], e[1]], [-e[3], e[2], -e[1], e[0]]]
        )
        omega = 2.0 * lever @ rate
        speed = v[7 * k : 7 * k + 3]
        total += 0.5 * body.mass * speed @ speed + 0.5 * omega @ (body.inertia[:3] * omega)
    return total


def potential(mechanism, q):
    return -sum(
        body.mass * mechanism.gravity @ q[7 * k : 7 * k + 3]
        for k, body in enumerate(mechanism.bodies)
    )


def test_the_slider_crank_is_that_of_lagrange():
    """A crank r, a rod l and a slider m without weight, in one angle, by scipy."""
    r, length, m1, m2, m3, spin = 0.5, 1.2, 2.0, 1.0, 3.0, 4.0
    angle = 0.7

    def parts(a):
        """Return positions of the centres and the rod's turn, and their rates per angle."""
        s = r * np.sin(a) / length
        phi, slope = -np.arcsin(s), -r * np.cos(a) / (length * np.sqrt(1 - s * s))
        pin = np.array([r * np.cos(a), r * np.sin(a), 0.0])
        pin_rate = np.array([-r * np.sin(a), r * np.cos(a), 0.0])
        out = np.array([np.cos(phi), np.sin(phi), 0.0])
        side = slope * np.array([-np.sin(phi), np.cos(phi), 0.0])
        return (
            pin,
            pin_rate,
            pin + 0.5 * length * out,
            pin_rate + 0.5 * length * side,
            pin + length * out,
            pin_rate + length * side,
            slope,
        )

    def inertia(a):
        _, _, _, middle, _, end, slope = parts(a)
        crank = m1 * r * r / 3.0
        return crank + m2 * middle @ middle + m2 * length**2 / 12 * slope**2 + m3 * end @ end

    def rates(_t, y):
        d = 1e-6
        bend = (inertia(y[0] + d) - inertia(y[0] - d)) / (2 * d)
        return [y[1], -0.5 * bend * y[1] ** 2 / inertia(y[0])]

    pin, pin_rate, middle, middle_rate, end, end_rate, slope = parts(angle)
    phi = -np.arcsin(r * np.sin(angle) / length)
    bodies = [
        rod("crank", (0, 0, 0), pin, m1, 0.5 * spin * pin_rate, spin),
        MovingBody(
            "rod",
            m2,
            (1e-3, m2 * length**2 / 12, m2 * length**2 / 12),
            middle,
            about_z(phi),
            spin * middle_rate,
            (0, 0, spin * slope),
        ),
        MovingBody("slider", m3, (1, 1, 1), end, velocity=spin * end_rate),
    ]
    joints = [
        Joint("revolute", ("ground", "crank"), (0, 0, 0), Z),
        Joint("revolute", ("crank", "rod"), pin, Z),
        Joint("translational", ("ground", "slider"), end, (1, 0, 0)),
        Joint("component", ("slider", "rod"), [end, end], (1, 0, 0), "pin, along"),
        Joint("component", ("slider", "rod"), [end, end], (0, 1, 0), "pin, across"),
    ]
    mechanism = Mechanism(bodies, joints, (), (0, 0, 0))
    assert mechanism.freedoms == 1
    motion = simulate_mechanism(mechanism, 1.5, rtol=1e-9)
    exact = solve_ivp(rates, (0, 1.5), [angle, spin], "DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    assert motion.success
    assert motion.q[-1][14] == pytest.approx(parts(exact[0])[4][0], abs=1e-6)
    assert motion.v[-1][14] == pytest.approx(parts(exact[0])[5][0] * exact[1], abs=1e-5)


def test_the_hmmwv_has_eighteen_freedoms():
    car = hmmwv()
    assert (len(car.bodies), car.size, car.constraints, car.freedoms) == (14, 98, 80, 18)
    assert len(partition(car.gradients(car.q0)).independent) == 18
    fastest = linearize(car).eigenvalues[0]
    assert fastest.real == pytest.approx(-2.6e5, rel=0.05)


# ---------------------------------------------------------------------- bad input
BODY = {"mass": 1.0, "inertia": (1, 1, 1)}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MovingBody("b", -1.0, (1, 1, 1)), "mass is -1 kg"),
        (lambda: MovingBody("b", 1.0, (1, 1, 3)), "non-physical"),
        (lambda: MovingBody("b", 1.0, (1, 1, 1), orientation=(1, 0.1, 0, 0)), "Euler parameters"),
        (lambda: MovingBody("ground", 1.0, (1, 1, 1)), "a body's name"),
        (lambda: MovingBody("b", 1.0, (1, 1, 1), position=(0, np.nan, 0)), "position is"),
        (lambda: Joint("hinge", ("a", "b")), "of kind 'hinge'"),
        (lambda: Joint("revolute", ("a", "b")), "expected an axis"),
        (lambda: Joint("universal", ("a", "b"), (0, 0, 0), [(1, 0, 0), (1, 1, 0)]), "perpendic"),
        (lambda: Joint("distance", ("a", "b"), (0, 0, 0)), "keeps the distance 0"),
        (lambda: Spring(("a", "b"), (0, 0, 0)), "distance of its points"),
        (lambda: Spring(("a", "b"), [(0, 0, 0), (1, 0, 0)], stiffness=-1.0), "stiffness is -1"),
        (lambda: mechanism_with(Joint("spherical", ("a", "c"), (0, 0, 0))), "no body 'c'"),
        (lambda: mechanism_with(Joint("spherical", ("ground", "a"), (1, 0, 0))), "not connected"),
        (lambda: mechanism_with(Joint("fixed", ("a", "a"), (1, 0, 0))), "with itself"),
        (
            lambda: mechanism_with(Joint("fixed", ("ground", "a")), Joint("fixed", ("a", "b"))),
            "no freedom",
        ),
        (
            lambda: Mechanism(
                [MovingBody("a", velocity=(0, 1, 0), **BODY)],
                [Joint("spherical", ("ground", "a"), (0, 0, 0))],
            ),
            "violate",
        ),
        (lambda: Mechanism([], []), "no bodies"),
        (lambda: Mechanism(None), "bodies is None; expected a list of MovingBody"),
        (lambda: Mechanism([MovingBody("b", **BODY)], ["x"]), r"joints\[0\] is 'x'; expected Joi"),
        (lambda: Mechanism([MovingBody("b", **BODY)], (), [3]), "expected Spring or RotationalSp"),
        (lambda: MovingBody("b", 1.0, (1, 1)), r"shape \(2,\); expected \(3,\) or \(6,\)"),
        (lambda: MovingBody("b", 1.0, 1.0), r"expected \(3,\) or \(6,\)"),
        (lambda: turning_arm((1, 0, 0)), r"axis \[1.0, 0.0, 0.0\]; expected \[0.0, 0.0, 1.0\]"),
        (lambda: simulate_mechanism(four_bar(), 1.0, method="taylor"), "has no series"),
        (lambda: simulate_mechanism(four_bar(), 1.0, control=1e-3), "expected an md.StepControl"),
        (lambda: simulate_mechanism("car", 1.0), "expected a Mechanism"),
        (lambda: stiff_pendulum().starting_at(np.ones(14)), "the start violates a constraint by"),
        (lambda: stiff_pendulum().starting_at(np.full(14, np.nan)), "q is"),
        (
            lambda: stiff_pendulum().starting_at(stiff_pendulum().q0, np.ones(14)),
            "initial velocities violate",
        ),
    ],
)
def test_bad_input_is_told(make, message):
    with pytest.raises(md.ManipDynError, match=message):
        make()


def mechanism_with(*joints):
    bodies = [MovingBody("a", position=(1, 0, 0), **BODY), MovingBody("b", **BODY)]
    return Mechanism(bodies, joints)


def test_a_singular_position_is_named():
    """A four-bar stretched out in a line: the bar's length does not follow from the others."""
    a, b, c, d = (0, 0, 0), (1.0, 0, 0), (2.0, 0, 0), (4.0, 0, 0)
    bodies = [rod("crank", a, b), rod("rocker", d, c)]
    joints = [
        Joint("revolute", ("ground", "crank"), a, Z),
        Joint("revolute", ("ground", "rocker"), d, Z),
        Joint("distance", ("crank", "rocker"), [b, c]),
    ]
    with pytest.raises(md.ManipDynError, match=r"singular position: see .*distance crank-rocker"):
        Mechanism(bodies, joints)


@pytest.mark.parametrize("kind", JOINTS)
def test_a_joint_has_as_many_constraints_as_its_kind_says(kind):
    points = (0, 0, 0) if kind not in ("distance", "component") else ((0, 0, 0), (1, 0, 0))
    axis = ((1, 0, 0), (0, 1, 0)) if kind == "universal" else (0, 0, 1)
    joint = Joint(kind, ("ground", "a"), points, axis if JOINTS[kind].axis else None)
    poses = [(np.zeros(3), np.eye(3))] * 2
    assert len(joint_rows(joint, poses)) == JOINTS[kind].constraints


def test_a_kind_without_constraints_is_refused(monkeypatch):
    monkeypatch.setitem(JOINTS, "magnetic", JointKind(1))
    with pytest.raises(NotImplementedError, match="no constraints for a joint of kind 'magnetic'"):
        joint_rows(Joint("magnetic", ("ground", "a")), [(np.zeros(3), np.eye(3))] * 2)
