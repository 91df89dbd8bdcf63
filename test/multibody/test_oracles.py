"""Closed chains compared with Pinocchio's constrained dynamics, a four-bar with Lagrange."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from manip_dyn.multibody import (
    FirstOrder,
    Joint,
    Mechanism,
    MovingBody,
    load_mechanism,
    simulate_mechanism,
)

GRAVITY = np.array([0.4, -1.1, -9.7])
CHAINS = {
    "RSSR": (["revolute", "spherical", "revolute"], [(0, -1), (1, 0), (2, -1)], (1, 2), 3),
    "RUU-S": (["revolute", "universal", "universal"], [(0, -1), (1, 0), (2, 1)], (2, -1), 3),
    "RUS-6D-R": (
        ["revolute", "universal", "spherical", "revolute"],
        [(0, -1), (1, 0), (2, 1), (3, -1)],
        (2, 3),
        6,
    ),
    "long tree": (
        [*["revolute", "universal"] * 10, "spherical", *["revolute"] * 4],
        [
            *((k, k - 1) for k in range(11)),
            *((20, 10), (21, 20)),  # a branch
            *((k, k - 1) for k in range(11, 15)),
            *((22, 14), (23, 22), (24, 23)),  # a branch that is connected with the chain again
            *((k, k - 1) for k in range(15, 20)),
        ],
        (24, 17),
        3,
    ),
}
"""Joints of the tree, (body, parent) of each, bodies of the loop joint, its constraints."""


def angular_velocity(e, rate):
    """Return the angular velocity (3,) in body axes from Euler parameters and their rates (4,)."""
    w, x, y, z = e
    return 2.0 * np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]) @ rate


class Chain:
    """A random closed chain, as a mechanism and as a Pinocchio tree with a constraint."""

    def __init__(self, name, seed):
        rng = np.random.default_rng(seed)
        kinds, links, closing, self.size = CHAINS[name]
        self.kinds, self.links = kinds, links
        orientations = rng.normal(size=(len(kinds), 4))
        orientations /= np.linalg.norm(orientations, axis=1)[:, np.newaxis]
        positions = 2.0 * rng.normal(size=(len(kinds), 3))
        bodies = [
            MovingBody(f"b{k}", rng.uniform(0.5, 3), rng.uniform(1, 1.5, 3), position, e)
            for k, (position, e) in enumerate(zip(positions, orientations, strict=True))
        ]
        self.points = rng.normal(size=(len(kinds), 3))
        self.axes = [np.linalg.qr(rng.normal(size=(3, 3)))[0][:2] for _ in kinds]
        loop = rng.normal(size=3)
        joints = [
            Joint(kind, (label(parent), label(body)), point, joint_axis(kind, axes))
            for kind, (body, parent), point, axes in zip(
                kinds, links, self.points, self.axes, strict=True
            )
        ]
        joints.append(
            Joint("spherical" if self.size == 3 else "fixed", tuple(map(label, closing)), loop)
        )
        rest = Mechanism(bodies, joints, (), GRAVITY)
        free = np.linalg.svd(rest.gradients(rest.q0))[2][rest.constraints :]
        self.mechanism = rest.starting_at(rest.q0, free.T @ rng.normal(size=len(free)))
        self._build(closing, loop)

    def _build(self, closing, loop):
        model, self.ids, self.frames = pin.Model(), {-1: 0}, []
        model.gravity.linear = GRAVITY
        origin = {-1: np.zeros(3)}
        for k, (kind, (body, parent)) in enumerate(zip(self.kinds, self.links, strict=True)):
            placement = pin.SE3(np.eye(3), self.points[k] - origin[parent])
            joints = {
                "revolute": [pin.JointModelRevoluteUnaligned(self.axes[k][0])],
                "spherical": [pin.JointModelSpherical()],
                "universal": [pin.JointModelRevoluteUnaligned(axis) for axis in self.axes[k]],
            }[kind]
            last = self.ids[parent]
            for number, joint in enumerate(joints):
                last = model.addJoint(last, joint, placement, f"{label(body)} {number}")
                placement = pin.SE3.Identity()
            self.ids[body], origin[body] = last, self.points[k]
            moving = self.mechanism.bodies[body]
            rotation, arm = moving.rotation, moving.position - self.points[k]
            inertia = rotation @ np.diag(moving.inertia[:3]) @ rotation.T
            model.appendBodyToJoint(
                last, pin.Inertia(moving.mass, arm, inertia), pin.SE3.Identity()
            )
            frame = pin.Frame(label(body), last, 0, pin.SE3(np.eye(3), arm), pin.OP_FRAME)
            self.frames.append((body, model.addFrame(frame)))
        kind = pin.ContactType.CONTACT_3D if self.size == 3 else pin.ContactType.CONTACT_6D
        self.model = model
        ends = [pin.SE3(np.eye(3), loop - origin[body]) for body in closing]
        self.loop = pin.RigidConstraintModel(
            kind, model, self.ids[closing[0]], ends[0], self.ids[closing[1]], ends[1], pin.LOCAL
        )

    def oracle(self):
        """Return linear and angular accelerations (b, 6) of the bodies, global."""
        model, data = self.model, self.model.createData()
        q, v = pin.neutral(model), self.rates()
        settings = pin.ProximalSettings(1e-14, 1e-10, 200)
        loops, work = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
        loops.append(self.loop)
        work.append(self.loop.createData())
        since_4 = int(pin.__version__.split(".")[0]) >= 4
        pin.initConstraintDynamics(model, data, loops, *([work] if since_4 else []))
        efforts = np.zeros(model.nv)
        a = pin.constraintDynamics(model, data, q, v, efforts, loops, work, settings)
        pin.forwardKinematics(model, data, q, v, a)
        pin.updateFramePlacements(model, data)
        accelerations = np.zeros((len(self.kinds), 6))
        for body, frame in self.frames:
            accelerations[body] = pin.getFrameClassicalAcceleration(
                model, data, frame, pin.LOCAL_WORLD_ALIGNED
            ).vector
        return accelerations

    def rates(self):
        """Return Pinocchio's joint velocities: angular velocities relative to the parents."""
        spins = {-1: np.zeros(3)}
        for k, body in enumerate(self.mechanism.bodies):
            e, rate = (x[7 * k + 3 : 7 * k + 7] for x in (self.mechanism.q0, self.mechanism.v0))
            spins[k] = body.rotation @ angular_velocity(e, rate)
        rates = []
        for kind, (body, parent), axes in zip(self.kinds, self.links, self.axes, strict=True):
            relative = spins[body] - spins[parent]
            size = {"revolute": 1, "universal": 2, "spherical": 3}[kind]
            rates.extend(relative if size == 3 else axes[:size] @ relative)
        return np.array(rates)

    def accelerations(self):
        """Return the same from the state-space form."""
        mechanism, rhs = self.mechanism, FirstOrder(self.mechanism)
        rows = rhs.accelerations(0.0, rhs.y0).reshape(-1, 7)
        spins = [
            body.rotation @ angular_velocity(q[3:], a[3:])
            for body, q, a in zip(mechanism.bodies, mechanism.q0.reshape(-1, 7), rows, strict=True)
        ]
        return np.hstack([rows[:, :3], spins])


def label(body):
    return "ground" if body < 0 else f"b{body}"


def joint_axis(kind, axes):
    return {"revolute": axes[0], "universal": axes}.get(kind)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_accelerations_of_a_closed_chain_match_pinocchio(name, seed):
    chain = Chain(name, seed)
    expected = chain.oracle()
    scale = np.abs(expected).max()
    assert scale > 0.1
    np.testing.assert_allclose(chain.accelerations(), expected, rtol=1e-8, atol=1e-8 * scale)


def test_long_chains_with_loops_conserve_their_energy():
    """A chain of planar four-bars, each on the coupler of the one before."""
    bodies, joints, base = [], [], "ground"
    for k in range(5):
        x = 1.2 * k
        starts = [(x, 0.0), (x + 0.3, 0.5), (x + 1.0, 0.1)]
        ends = [(x + 0.3, 0.5), (x + 1.2, 0.6), (x + 1.2, 0.6)]
        for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
            center = (*(0.5 * (np.array(start) + end)), 0.0)
            bodies.append(MovingBody(f"b{k}{i}", 1.0, (0.01, 0.02, 0.02), center))
        crank, coupler, rocker = (body.name for body in bodies[-3:])
        for pair, point in (
            ((base, crank), starts[0]),
            ((crank, coupler), starts[1]),
            ((coupler, rocker), ends[1]),
            ((base, rocker), starts[2]),
        ):
            joints.append(Joint("revolute", pair, (*point, 0.0), (0.0, 0.0, 1.0)))
        base = coupler
    mechanism = Mechanism(bodies, joints, (), (0.0, -9.81, 0.0))
    assert (mechanism.freedoms, len(mechanism.redundant)) == (5, 15)
    motion = simulate_mechanism(mechanism, 0.3)
    assert motion.success, motion.reason
    assert motion.method == "rkdp54"
    assert motion.violation < 1e-10
    kinetic, potential = np.transpose(
        [energies(mechanism, q, v) for q, v in zip(motion.q, motion.v, strict=True)]
    )
    assert np.ptp(potential) > 1.0
    assert np.ptp(kinetic + potential) < 1e-4 * np.ptp(potential)


def test_a_closed_chain_conserves_its_energy_and_its_loop():
    mechanism = Chain("RSSR", 1).mechanism
    motion = simulate_mechanism(mechanism, 1.0, rtol=1e-9)
    assert motion.success, motion.reason
    assert motion.violation < 1e-10
    rows = [energies(mechanism, q, v) for q, v in zip(motion.q, motion.v, strict=True)]
    kinetic, potential = np.transpose(rows)
    assert np.ptp(potential) > 1.0
    assert np.ptp(kinetic + potential) < 1e-6 * np.ptp(potential)


def energies(mechanism, q, v):
    """Return kinetic and potential energy, J."""
    kinetic = potential = 0.0
    for body, x, rate in zip(mechanism.bodies, q.reshape(-1, 7), v.reshape(-1, 7), strict=True):
        omega = angular_velocity(x[3:], rate[3:])
        kinetic += 0.5 * body.mass * rate[:3] @ rate[:3] + 0.5 * omega @ (body.inertia[:3] * omega)
        potential -= body.mass * mechanism.gravity @ x[:3]
    return kinetic, potential


# ---------------------------------------------------------------------- closed forms
def test_the_four_bar_matches_its_lagrange_equation():
    """The shipped four-bar in the angle of its crank: two circles meet at the rocker's end."""
    mechanism = load_mechanism("four_bar")
    d = np.array([2.0, 0.0])
    starts = np.array([[0.0, 0.0], [0.3, 1.0], [2.3, 1.6]])
    crank, coupler, rocker = (
        np.linalg.norm(b - a)
        for a, b in ((starts[0], starts[1]), (starts[1], starts[2]), (d, starts[2]))
    )
    rods = [(body.mass, body.inertia[2]) for body in mechanism.bodies]

    def ends(angle):
        """Return the ends of crank and rocker, also for complex angles."""
        b = crank * np.array([np.cos(angle), np.sin(angle)])
        diagonal = d - b
        square = diagonal @ diagonal
        along = (coupler**2 - rocker**2 + square) / (2 * square)
        height = np.sqrt(coupler**2 / square - along**2)
        return b, b + along * diagonal + height * np.array([-diagonal[1], diagonal[0]])

    def terms(angle):
        """Return generalized mass and potential energy."""
        tiny = 1e-30j
        (b, c), slopes = ends(angle), [end.imag / 1e-30 for end in ends(angle + tiny)]
        mass = height = 0.0
        for (m, j), (p, q), (dp, dq) in zip(
            rods,
            ((0 * b, b), (b, c), (d, c)),
            ((0 * b, slopes[0]), slopes, (0 * b, slopes[1])),
            strict=True,
        ):
            speed, rod, rate = 0.5 * (dp + dq), q - p, dq - dp
            spin = (rod[0] * rate[1] - rod[1] * rate[0]) / (rod @ rod)
            mass += m * speed @ speed + j * spin**2
            height += 9.81 * m * 0.5 * (p[1] + q[1])
        return np.array([mass, height])

    def rates(_t, y):
        bend = (
            8 * (terms(y[0] + 1e-3) - terms(y[0] - 1e-3)) - terms(y[0] + 2e-3) + terms(y[0] - 2e-3)
        ) / 12e-3
        return [y[1], -(0.5 * bend[0] * y[1] ** 2 + bend[1]) / terms(y[0])[0]]

    begin = np.arctan2(1.0, 0.3)
    np.testing.assert_allclose(ends(begin)[1], starts[2], atol=1e-12)
    exact = solve_ivp(rates, (0, 1.5), [begin, 0.0], "DOP853", rtol=1e-11, atol=1e-11).y[:, -1]
    motion = simulate_mechanism(mechanism, 1.5, rtol=1e-9)
    assert motion.success
    assert motion.violation < 1e-10
    b, c = ends(exact[0])
    np.testing.assert_allclose(motion.q[-1][:2], 0.5 * b, atol=1e-6)
    np.testing.assert_allclose(motion.q[-1][7:9], 0.5 * (b + c), atol=1e-6)
    assert abs(exact[0] - begin) > 0.5
    last = energies(mechanism, motion.q[-1], motion.v[-1])
    first = energies(mechanism, motion.q[0], motion.v[0])
    assert sum(last) == pytest.approx(sum(first), abs=1e-6 * last[0])
    direction = Rotation.from_quat(np.roll(motion.q[-1][3:7], -1)).as_matrix()[:2, 0]
    np.testing.assert_allclose(direction, b / crank, atol=1e-6)
