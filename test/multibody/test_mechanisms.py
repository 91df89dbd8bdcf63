"""Constrained mechanisms: derivatives, known mechanisms, energy, invalid arguments."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import manip_dyn as md
from manip_dyn.multibody import (
    FirstOrder,
    Joint,
    Mechanism,
    MechanismSimulation,
    MovingBody,
    RotationalSpring,
    Spring,
    Tyre,
    linearize,
    simulate_by_adams,
    simulate_mechanism,
)

Z = (0.0, 0.0, 1.0)
DURATION = 2.0
START = np.array([2.0 * np.pi, -np.pi / 12, 0.0, 10.0])
"""Duration, s, and initial angles and rates of the pendulum of Sandu et al. (2001)."""
CONSTRAINTS = {
    "spherical": 3,
    "universal": 4,
    "revolute": 5,
    "translational": 5,
    "fixed": 6,
    "distance": 1,
    "component": 1,
}
AXIAL = ("revolute", "translational", "component")


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
    """Return a planar four-bar without redundant constraints."""
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
    """Return a moving spatial mechanism with all joints and forces in a random posture."""
    rng = np.random.default_rng(seed)
    orientations = rng.normal(size=(5, 4))
    orientations /= np.linalg.norm(orientations, axis=1)[:, np.newaxis]
    positions = rng.normal(size=(5, 3)) + np.arange(5)[:, np.newaxis]
    names = [f"b{k}" for k in range(5)]
    bodies = [
        MovingBody(name, rng.uniform(0.5, 3), rng.uniform(1, 1.5, 3), position, orientation)
        for name, position, orientation in zip(names, positions, orientations, strict=True)
    ]
    x, y = np.linalg.qr(rng.normal(size=(3, 3)))[0][:2]
    hinge = rng.normal(size=3)
    joints = [
        Joint("revolute", ("ground", "b0"), positions[0] + rng.normal(size=3), hinge),
        Joint("universal", ("b0", "b1"), positions[1] + rng.normal(size=3), [x, y]),
        Joint("translational", ("b1", "b2"), positions[2], rng.normal(size=3)),
        Joint("spherical", ("b2", "b3"), positions[3] + rng.normal(size=3)),
        Joint("distance", ("b3", "ground"), rng.normal(size=(2, 3))),
        Joint("component", ("b0", "b3"), rng.normal(size=(2, 3)), rng.normal(size=3)),
        Joint("fixed", ("b3", "b4"), positions[4]),
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
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_j1_and_j2_are_the_derivatives_of_the_accelerations(seed):
    """At random consistent states of random mechanisms, by differences of order 8."""
    mechanism = random_mechanism(seed)
    t, n = 0.02, mechanism.freedoms
    assert n == 5
    exact = linearize(mechanism, t)
    matrix = np.hstack([exact.by_position, exact.by_velocity])
    expected = np.zeros_like(matrix)
    weights = np.array([4 / 5, -1 / 5, 4 / 105, -1 / 280])
    for column in range(2 * n):
        for k, weight in enumerate(weights, start=1):
            for sign in (1.0, -1.0):
                y = exact.y.copy()
                y[column] += sign * k * 2e-3
                expected[:, column] += sign * weight * acceleration(mechanism, t, y) / 2e-3
    scale = np.abs(matrix).max()
    np.testing.assert_allclose(matrix, expected, atol=1e-8 * scale)
    steps = [acceleration(mechanism, t + s, exact.y) for s in (1e-5, -1e-5)]
    np.testing.assert_allclose(exact.by_time, (steps[0] - steps[1]) / 2e-5, rtol=1e-5, atol=1e-5)


def acceleration(mechanism, t, y):
    """Return the accelerations (n,) of the independent coordinates."""
    return FirstOrder(mechanism)(t, y)[mechanism.freedoms :]


def test_accelerations_solve_the_equations_with_multipliers():
    """Eq. 3 of Sandu et al. (2001) at rest, by d'Alembert's principle."""
    mechanism = four_bar()
    rhs = FirstOrder(mechanism)
    a = rhs.accelerations(0.0, rhs.y0)
    independent = rhs.partition.independent
    np.testing.assert_allclose(a[independent], linearize(mechanism).acceleration, rtol=1e-12)
    assert np.abs(mechanism.gradients(mechanism.q0) @ a).max() < 1e-12  # at rest
    work = sum(
        body.mass * (a[7 * k : 7 * k + 3] @ (a[7 * k : 7 * k + 3] - mechanism.gravity))
        for k, body in enumerate(mechanism.bodies)
    )
    turning = sum(
        4.0 * body.inertia[2] * (a[7 * k + 3 : 7 * k + 7] @ a[7 * k + 3 : 7 * k + 7])
        for k, body in enumerate(mechanism.bodies)
    )
    assert work + turning == pytest.approx(0.0, abs=1e-9)


# --------------------------------------------------------------------- mechanisms
@pytest.fixture(scope="module")
def reference():
    """Return the final joint state of the pendulum from an explicit method with small steps."""
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


def test_the_cartesian_pendulum_moves_like_the_robot(reference):
    motion = simulate_mechanism(stiff_pendulum(), DURATION, rtol=1e-8)
    assert motion.success
    assert motion.violation < 1e-10
    assert motion.partitions > 1
    q, v = motion.q[-1], motion.v[-1]
    angles = [2.0 * np.arctan2(q[k + 3], q[k]) for k in (3, 10)]
    rates = [2.0 * (q[k] * v[k + 3] - q[k + 3] * v[k]) for k in (3, 10)]
    difference = (angles[0] - reference[0] + np.pi) % (2 * np.pi) - np.pi
    assert abs(difference) < 1e-7
    assert np.sin(angles[1] - angles[0] - reference[1]) == pytest.approx(0.0, abs=1e-7)
    assert rates[0] == pytest.approx(reference[2], abs=1e-6)


def turning_arm(axis=Z, rest=0.0):
    """Return an arm on a weak spring that rotates by more than a turn in both directions."""
    spin = {"velocity": (0, 12, 0), "angular_velocity": (0, 0, 12)}
    return Mechanism(
        [MovingBody("arm", 3.0, (0.01, 1.0, 1.0), (1, 0, 0), **spin)],
        [Joint("revolute", ("ground", "arm"), (0, 0, 0), Z)],
        [RotationalSpring(("ground", "arm"), axis, 2.0, 0.1, rest)],
        (0, -9.81, 0),
    )


@pytest.mark.parametrize("rest", [0.0, 4.0])
def test_a_rotational_spring_counts_turns(rest):
    """Comparison with SciPy in one angle: in one call, in periods, and by Adams methods."""

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


def test_the_four_bar_conserves_its_energy_and_satisfies_its_joints():
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


def test_the_slider_crank_matches_its_lagrange_equation():
    """Crank, rod and slider without gravity, in one angle, with SciPy."""
    r, length, m1, m2, m3, spin = 0.5, 1.2, 2.0, 1.0, 3.0, 4.0
    angle = 0.7

    def parts(a):
        """Return positions and their derivatives by the angle, and that of the rod's angle."""
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


# ---------------------------------------------------------------------- bad input
BODY = {"mass": 1.0, "inertia": (1, 1, 1)}


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (lambda: MovingBody("b", -1.0, (1, 1, 1)), "mass"),
        (lambda: MovingBody("b", 1.0, (1, 1, 3)), "non-physical"),
        (
            lambda: MovingBody("b", 1.0, (1, 1, 1), orientation=(1, 0.1, 0, 0)),
            "orientation must have the norm 1",
        ),
        (lambda: MovingBody("ground", 1.0, (1, 1, 1)), "Body name must be"),
        (lambda: MovingBody("b", 1.0, (1, 1, 1), position=(0, np.nan, 0)), "position"),
        (lambda: Joint("hinge", ("a", "b")), "got 'hinge'"),
        (lambda: Joint("revolute", ("a", "b")), "axis must be a vector"),
        (lambda: Joint("universal", ("a", "b"), (0, 0, 0), [(1, 0, 0), (1, 1, 0)]), "perpendic"),
        (lambda: Joint("distance", ("a", "b"), (0, 0, 0)), "must have a distance above 0"),
        (lambda: Spring(("a", "b"), (0, 0, 0)), "distance of its points"),
        (lambda: Spring(("a", "b"), [(0, 0, 0), (1, 0, 0)], stiffness=-1.0), "stiffness"),
        (
            lambda: mechanism_with(Joint("spherical", ("a", "c"), (0, 0, 0))),
            "body of the mechanism, got 'c'",
        ),
        (lambda: mechanism_with(Joint("spherical", ("ground", "a"), (1, 0, 0))), "not connected"),
        (lambda: mechanism_with(Joint("fixed", ("a", "a"), (1, 0, 0))), "must connect two bodies"),
        (
            lambda: mechanism_with(Joint("fixed", ("ground", "a")), Joint("fixed", ("a", "b"))),
            "at least one degree of freedom",
        ),
        (
            lambda: Mechanism(
                [MovingBody("a", velocity=(0, 1, 0), **BODY)],
                [Joint("spherical", ("ground", "a"), (0, 0, 0))],
            ),
            "Initial velocities must satisfy the joints",
        ),
        (lambda: Mechanism([], []), "at least one body"),
        (lambda: Mechanism(None), "bodies must be a list of MovingBody, got None"),
        (lambda: Mechanism([MovingBody("b", **BODY)], ["x"]), r"joints\[0\] must be Joint"),
        (
            lambda: Mechanism([MovingBody("b", **BODY)], (), [3]),
            r"forces\[0\] must be Spring or Rot",
        ),
        (lambda: MovingBody("b", 1.0, (1, 1)), r"inertia must have the shape"),
        (lambda: MovingBody("b", 1.0, 1.0), r"inertia must have the shape"),
        (lambda: turning_arm((1, 0, 0)), r"axis must be \[0.0, 0.0, 1.0\]"),
        (lambda: simulate_mechanism(four_bar(), 1.0, method="taylor"), "got 'taylor'"),
        (
            lambda: simulate_mechanism(four_bar(), 1.0, control=1e-3),
            "control must be an md.StepControl",
        ),
        (
            lambda: simulate_mechanism(four_bar(), 1.0, step=1e-3, rtol=1e-6),
            "step must be None with rtol or atol, got 0.001 s",
        ),
        (lambda: simulate_mechanism(four_bar(), 1.0, method="rk4"), "step must be given"),
        (lambda: simulate_mechanism(switching_at(np.nan), 1.0), "mechanism.switches must be"),
        (lambda: simulate_mechanism(switching_at("a"), 1.0), "mechanism.switches must be"),
        (lambda: simulate_mechanism("car", 1.0), "mechanism must be a Mechanism"),
        (lambda: stiff_pendulum().starting_at(np.ones(14)), "q must satisfy the constraints"),
        (lambda: stiff_pendulum().starting_at(np.full(14, np.nan)), "q "),
        (
            lambda: stiff_pendulum().starting_at(stiff_pendulum().q0, np.ones(14)),
            "Initial velocities must satisfy the joints",
        ),
    ],
)
def test_invalid_arguments_are_rejected(create, message):
    with pytest.raises(md.ManipDynError, match=message):
        create()


def switching_at(time):
    mechanism = four_bar()
    mechanism.switches.append(time)
    return mechanism


def mechanism_with(*joints):
    bodies = [MovingBody("a", position=(1, 0, 0), **BODY), MovingBody("b", **BODY)]
    return Mechanism(bodies, joints)


def test_a_singular_assembly_is_rejected_with_its_joints():
    """A four-bar stretched out in a line."""
    a, b, c, d = (0, 0, 0), (1.0, 0, 0), (2.0, 0, 0), (4.0, 0, 0)
    bodies = [rod("crank", a, b), rod("rocker", d, c)]
    joints = [
        Joint("revolute", ("ground", "crank"), a, Z),
        Joint("revolute", ("ground", "rocker"), d, Z),
        Joint("distance", ("crank", "rocker"), [b, c]),
    ]
    with pytest.raises(md.ManipDynError, match=r"singular position: .*distance crank-rocker"):
        Mechanism(bodies, joints)


@pytest.mark.parametrize("kind", CONSTRAINTS)
def test_a_joint_has_the_number_of_constraints_of_its_kind(kind):
    points = (0, 0, 0) if kind not in ("distance", "component") else ((0, 0, 0), (1, 0, 0))
    axes = {"universal": ((1, 0, 0), (0, 1, 0))} | dict.fromkeys(AXIAL, (0, 0, 1))
    joint = Joint(kind, ("a", "b"), points, axes.get(kind))
    mechanism = mechanism_with(joint)
    assert mechanism.constraints == CONSTRAINTS[kind] + 2  # two for the Euler parameters
    assert mechanism.redundant == ()
