"""Closed chains against pinocchio's constrained dynamics, a four-bar against Lagrange."""

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import solve_ivp

from manip_dyn.multibody import Joint, Mechanism, MovingBody, load_mechanism, simulate_mechanism
from manip_dyn.multibody.equations.primitives import body_angular_velocity, rotation
from manip_dyn.multibody.equations.state_space import linearized_rates
from manip_dyn.multibody.model.linearization import prepare_memory

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
}
"""Joints of the tree, (body, parent) of each, the bodies that close the loop, and how stiffly."""


class Chain:
    """A random closed chain, as our mechanism and as pinocchio's tree with a constraint."""

    def __init__(self, name, seed):
        rng = np.random.default_rng(seed)
        kinds, links, closing, self.size = CHAINS[name]
        self.kinds, self.links = kinds, links
        turns = rng.normal(size=(len(kinds), 4))
        turns /= np.linalg.norm(turns, axis=1)[:, np.newaxis]
        self.places = 2.0 * rng.normal(size=(len(kinds), 3))
        bodies = [
            MovingBody(f"b{k}", rng.uniform(0.5, 3), rng.uniform(1, 1.5, 3), place, turn)
            for k, (place, turn) in enumerate(zip(self.places, turns, strict=True))
        ]
        self.points = rng.normal(size=(len(kinds), 3))
        self.axes = [np.linalg.qr(rng.normal(size=(3, 3)))[0][:2] for _ in kinds]
        loop = rng.normal(size=3)
        joints = [
            Joint(kind, (label(parent), label(body)), point, given(kind, axes))
            for kind, (body, parent), point, axes in zip(
                kinds, links, self.points, self.axes, strict=True
            )
        ]
        joints.append(
            Joint("spherical" if self.size == 3 else "fixed", tuple(map(label, closing)), loop)
        )
        still = Mechanism(bodies, joints, (), GRAVITY)
        free = np.linalg.svd(still.gradients(still.q0))[2][still.constraints :]
        self.mechanism = still.starting_at(still.q0, free.T @ rng.normal(size=len(free)))
        self._build(closing, loop)

    def _build(self, closing, loop):
        model, self.ids, self.frames = pin.Model(), {-1: 0}, []
        model.gravity.linear = GRAVITY
        origin = {-1: np.zeros(3)}
        for k, (kind, (body, parent)) in enumerate(zip(self.kinds, self.links, strict=True)):
            place = pin.SE3(np.eye(3), self.points[k] - origin[parent])
            joints = {
                "revolute": [pin.JointModelRevoluteUnaligned(self.axes[k][0])],
                "spherical": [pin.JointModelSpherical()],
                "universal": [pin.JointModelRevoluteUnaligned(axis) for axis in self.axes[k]],
            }[kind]
            last = self.ids[parent]
            for number, joint in enumerate(joints):
                last = model.addJoint(last, joint, place, f"{label(body)} {number}")
                place = pin.SE3.Identity()
            self.ids[body], origin[body] = last, self.points[k]
            given_body = self.mechanism.bodies[body]
            turn, arm = given_body.rotation, given_body.position - self.points[k]
            inertia = turn @ np.diag(given_body.inertia[:3]) @ turn.T
            model.appendBodyToJoint(
                last, pin.Inertia(given_body.mass, arm, inertia), pin.SE3.Identity()
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
        still = np.zeros(model.nv)
        a = pin.constraintDynamics(model, data, q, v, still, loops, work, settings)
        pin.forwardKinematics(model, data, q, v, a)
        pin.updateFramePlacements(model, data)
        found = np.zeros((len(self.kinds), 6))
        for body, frame in self.frames:
            found[body] = pin.getFrameClassicalAcceleration(
                model, data, frame, pin.LOCAL_WORLD_ALIGNED
            ).vector
        return found

    def rates(self):
        """Return pinocchio's joint velocities: turns of bodies against their parents."""
        spins = {-1: np.zeros(3)}
        for k, body in enumerate(self.mechanism.bodies):
            e, rate = (x[7 * k + 3 : 7 * k + 7] for x in (self.mechanism.q0, self.mechanism.v0))
            spins[k] = body.rotation @ body_angular_velocity(e.tolist(), rate.tolist())
        found = []
        for kind, (body, parent), axes in zip(self.kinds, self.links, self.axes, strict=True):
            turn = spins[body] - spins[parent]
            size = {"revolute": 1, "universal": 2, "spherical": 3}[kind]
            found.extend(turn if size == 3 else axes[:size] @ turn)
        return np.array(found)

    def ours(self):
        """Return the same from the state-space form."""
        mechanism = self.mechanism
        memory, y = prepare_memory(mechanism, mechanism.q0, mechanism.v0, mechanism.partition)
        n = mechanism.freedoms
        linearized_rates(0.0, y, memory, np.zeros((n, 3 * n)), np.zeros(n))
        rows = memory.tables.motion.a[: mechanism.size].reshape(-1, 7)
        spins = [
            body.rotation @ body_angular_velocity(q[3:].tolist(), a[3:].tolist())
            for body, q, a in zip(mechanism.bodies, mechanism.q0.reshape(-1, 7), rows, strict=True)
        ]
        return np.hstack([rows[:, :3], spins])


def label(body):
    return "ground" if body < 0 else f"b{body}"


def given(kind, axes):
    return {"revolute": axes[0], "universal": axes}.get(kind)


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_closed_chain_accelerates_as_pinocchio_says(name, seed):
    chain = Chain(name, seed)
    wanted = chain.oracle()
    assert np.abs(wanted).max() > 0.1
    np.testing.assert_allclose(chain.ours(), wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())


def test_a_closed_chain_keeps_its_energy_and_its_loop():
    mechanism = Chain("RSSR", 1).mechanism
    motion = simulate_mechanism(mechanism, 1.0, rtol=1e-9)
    assert motion.success, motion.reason
    assert motion.violation < 1e-10
    found = [energies(mechanism, q, v) for q, v in zip(motion.q, motion.v, strict=True)]
    kinetic, potential = np.transpose(found)
    assert np.ptp(potential) > 1.0
    assert np.ptp(kinetic + potential) < 1e-6 * np.ptp(potential)


def energies(mechanism, q, v):
    """Return kinetic and potential energy, J."""
    kinetic = potential = 0.0
    for body, x, rate in zip(mechanism.bodies, q.reshape(-1, 7), v.reshape(-1, 7), strict=True):
        omega = np.array(body_angular_velocity(x[3:].tolist(), rate[3:].tolist()))
        kinetic += 0.5 * body.mass * rate[:3] @ rate[:3] + 0.5 * omega @ (body.inertia[:3] * omega)
        potential -= body.mass * mechanism.gravity @ x[:3]
    return kinetic, potential


# ---------------------------------------------------------------------- closed forms
def test_the_four_bar_is_that_of_lagrange():
    """The shipped four-bar in its crank's angle: two circles meet at the rocker's end."""
    mechanism = load_mechanism("four_bar")
    d = np.array([2.0, 0.0])
    starts = np.array([[0.0, 0.0], [0.3, 1.0], [2.3, 1.6]])
    crank, coupler, rocker = (
        np.linalg.norm(b - a)
        for a, b in ((starts[0], starts[1]), (starts[1], starts[2]), (d, starts[2]))
    )
    rods = [(body.mass, body.inertia[2]) for body in mechanism.bodies]

    def ends(angle):
        """Return the crank's and the rocker's end; analytic, so that a complex step works."""
        b = crank * np.array([np.cos(angle), np.sin(angle)])
        way = d - b
        square = way @ way
        along = (coupler**2 - rocker**2 + square) / (2 * square)
        height = np.sqrt(coupler**2 / square - along**2)
        return b, b + along * way + height * np.array([-way[1], way[0]])

    def terms(angle):
        """Return generalized mass and potential energy."""
        tiny = 1e-30j
        (b, c), slopes = ends(angle), [each.imag / 1e-30 for each in ends(angle + tiny)]
        mass = height = 0.0
        for (m, j), (p, q), (dp, dq) in zip(
            rods,
            ((0 * b, b), (b, c), (d, c)),
            ((0 * b, slopes[0]), slopes, (0 * b, slopes[1])),
            strict=True,
        ):
            speed, way, turn = 0.5 * (dp + dq), q - p, dq - dp
            spin = (way[0] * turn[1] - way[1] * turn[0]) / (way @ way)
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
    turn = np.array(rotation(motion.q[-1][3:7].tolist()))[:2, 0]
    np.testing.assert_allclose(turn, b / crank, atol=1e-6)
