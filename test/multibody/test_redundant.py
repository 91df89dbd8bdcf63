"""Redundant constraints are removed, change points are crossed or reported."""

import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import manip_dyn as md
from manip_dyn.multibody import Joint, Mechanism, MovingBody, RotationalSpring, simulate_mechanism

Z = (0.0, 0.0, 1.0)
DOWN = (0.0, -9.81, 0.0)


def rod(name, start, end, mass=1.0, velocity=(0.0, 0.0, 0.0), spin=0.0):
    """Return a slender rod in the x-y plane."""
    start, end = np.array(start, float), np.array(end, float)
    (x, y, _), length = end - start, np.linalg.norm(end - start)
    inertia = mass * length**2 * np.array([1e-3, 1 / 12, 1 / 12])
    turn = (np.cos(np.arctan2(y, x) / 2), 0.0, 0.0, np.sin(np.arctan2(y, x) / 2))
    return MovingBody(name, mass, inertia, 0.5 * (start + end), turn, velocity, (0, 0, spin))


def four_bar(kinds, corners=((0, 0, 0), (0.3, 1.0, 0), (2.3, 1.6, 0), (2.0, 0, 0)), **motion):
    """Return a planar four-bar; a universal joint has its second axis along the coupler."""
    a, b, c, d = corners
    names = ("ground", "crank", "coupler", "rocker", "ground")
    along = np.subtract(c, b) / np.linalg.norm(np.subtract(c, b))
    axes = {"revolute": Z, "universal": [Z, along], "spherical": None}
    joints = [
        Joint(kind, names[k : k + 2], point, axes[kind])
        for k, (kind, point) in enumerate(zip(kinds, corners, strict=True))
    ]
    bodies = [
        rod("crank", a, b, 2.0, **motion.get("crank", {})),
        rod("coupler", b, c, 3.0, **motion.get("coupler", {})),
        rod("rocker", d, c, 2.5, **motion.get("rocker", {})),
    ]
    return Mechanism(bodies, joints, (), motion.get("gravity", DOWN))


def spatial_loop(twists, lengths, angles, kinds=None, spin=0.0):
    """Return a loop of revolute joints from Denavit-Hartenberg parameters."""
    frames, count = [np.eye(4)], len(twists)
    for twist, length, angle in zip(twists, lengths, angles, strict=True):
        step = np.eye(4)
        turn = Rotation.from_rotvec([0, 0, angle])
        step[:3, :3] = (turn * Rotation.from_rotvec([twist, 0, 0])).as_matrix()
        step[:3, 3] = turn.apply([length, 0, 0])
        frames.append(frames[-1] @ step)
    np.testing.assert_allclose(frames.pop(), np.eye(4), atol=1e-12)  # it closes
    at, axes = [f[:3, 3] for f in frames], [f[:3, 2] for f in frames]
    names = ["ground", *(f"link {k}" for k in range(1, count)), "ground"]
    bodies = []
    for k in range(count - 1):
        turn = Rotation.align_vectors([at[k + 1] - at[k]], [[1.0, 0, 0]])[0]
        x, y, z, w = turn.as_quat()
        middle = 0.5 * (at[k] + at[k + 1])
        bodies.append(
            MovingBody(names[k + 1], 1 + 0.2 * k, (0.02, 0.09, 0.1), middle, (w, x, y, z))
        )
    joints = []
    for k, kind in enumerate(kinds or ["revolute"] * count):
        side = np.cross(axes[k], (0.3, 0.5, 0.7))
        axis = {"revolute": axes[k], "universal": [axes[k], side / np.linalg.norm(side)]}
        joints.append(Joint(kind, names[k : k + 2], at[k], axis.get(kind), f"joint {k}"))
    mechanism = Mechanism(bodies, joints)
    if not spin:
        return mechanism
    tangent = np.linalg.svd(mechanism.gradients(mechanism.q0))[2][-1]
    turned = tangent / np.linalg.norm(tangent[3:7]) * np.sign(tangent[6])
    return mechanism.starting_at(mechanism.q0, 0.5 * spin * turned)


def bennett(kinds=None, spin=0.0, first=1.3):
    """Return a Bennett linkage: sin(twist) / length is the same for all links."""
    a, twist, b = 1.0, np.pi / 3, 0.8
    twist_b = np.arcsin(b * np.sin(twist) / a)
    ratio = np.sin((twist_b + twist) / 2) / np.sin((twist_b - twist) / 2)
    second = 2 * np.arctan(ratio / np.tan(first / 2))
    angles = [first, second, -first, -second]
    return spatial_loop([twist, twist_b] * 2, [a, b] * 2, angles, kinds, spin)


def energy(mechanism, q, v):
    total = 0.0
    for k, body in enumerate(mechanism.bodies):
        (w, x, y, z), rate = q[7 * k + 3 : 7 * k + 7], v[7 * k + 3 : 7 * k + 7]
        omega = 2.0 * np.array([[-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]) @ rate
        speed = v[7 * k : 7 * k + 3]
        total += 0.5 * body.mass * speed @ speed + 0.5 * omega @ (body.inertia[:3] * omega)
        total -= body.mass * mechanism.gravity @ q[7 * k : 7 * k + 3]
    return total


def drift(mechanism, motion):
    ends = zip(motion.q[[0, -1]], motion.v[[0, -1]], strict=True)
    return abs(np.subtract(*(energy(mechanism, q, v) for q, v in ends)))


# ----------------------------------------------------------------------- redundant
def test_redundant_constraints_do_not_change_the_motion_of_a_four_bar():
    redundant = four_bar(["revolute"] * 4)
    free = four_bar(["revolute", "universal", "spherical", "revolute"])
    assert (redundant.freedoms, len(redundant.redundant)) == (1, 3)
    assert all("direction" in name for name in redundant.redundant)
    # the second axis of the universal joint passes the spherical one: the coupler can spin
    assert (free.freedoms, len(free.redundant)) == (2, 1)
    motions = [simulate_mechanism(item, 2.0, rtol=1e-8) for item in (redundant, free)]
    assert motions[0].success
    assert motions[0].partitions > 1
    assert len(motions[0].redundant) == 3
    assert motions[0].violation < 1e-11  # including the redundant ones
    np.testing.assert_allclose(motions[0].q[-1], motions[1].q[-1], atol=1e-6)
    adams = md.multibody.simulate_by_adams(redundant, 2.0, rtol=1e-9)
    np.testing.assert_allclose(adams.q[-1], motions[0].q[-1], atol=1e-6)


@pytest.mark.parametrize("name", ["bennett", "bricard"])
def test_an_overconstrained_linkage_satisfies_its_law(name):
    if name == "bennett":
        mechanism, redundant = bennett(), 3
    else:  # threefold symmetric, with right angles as twists
        first = 1.2
        second = np.arccos(-np.cos(first) / (1 + np.cos(first)))
        right = np.pi / 2
        mechanism = spatial_loop([right, -right] * 3, [0.5] * 6, [first, second] * 3)
        redundant = 1
    assert (mechanism.freedoms, len(mechanism.redundant)) == (1, redundant)
    assert f"and {redundant} redundant" in repr(mechanism)
    motion = simulate_mechanism(mechanism, 1.0, rtol=1e-8)
    assert motion.success, motion.reason
    assert motion.violation < 1e-11
    assert drift(mechanism, motion) < 1e-6
    angles = [joint_angle(mechanism, k, motion.q[-1]) for k in (0, 1)]
    assert min(np.abs(angles)) > 0.05
    if name == "bennett":
        law = [np.tan((1.3 + factor * angles[0]) / 2) for factor in (0, 1)]
        second = 2 * np.arctan(law[0] * np.tan(start_angle(mechanism) / 2) / law[1])
        assert abs(angles[1]) == pytest.approx(abs(second - start_angle(mechanism)), abs=1e-7)
    else:
        c = np.cos([first + angles[0], second + angles[1]])
        assert c[0] + c[1] + c[0] * c[1] == pytest.approx(0.0, abs=1e-7)


def joint_angle(mechanism, index, q):
    """Return the rotation of a joint about its axis since the assembly, rad."""
    names = [body.name for body in mechanism.bodies]
    joint, rotations = mechanism.joints[index], []
    for body in joint.bodies:
        k = names.index(body) if body in names else -1
        ground = Rotation.identity()
        rotations.append(ground if k < 0 else rotation(q, k) * rotation(mechanism.q0, k).inv())
    return float((rotations[0].inv() * rotations[1]).as_rotvec() @ joint.axis[0])


def rotation(q, k):
    return Rotation.from_quat(q[7 * k + 3 : 7 * k + 7][[1, 2, 3, 0]])


def start_angle(mechanism):
    """Return the angle of the second joint of the Bennett linkage at assembly."""
    a, twist, b = 1.0, np.pi / 3, 0.8
    twist_b = np.arcsin(b * np.sin(twist) / a)
    return 2 * np.arctan(
        np.sin((twist_b + twist) / 2) / np.sin((twist_b - twist) / 2) / np.tan(0.65)
    )


def test_nearly_parallel_axes_lock_a_four_bar():
    """Axes that are parallel within 1e-7 rad lock it; within 1e-10 rad they do not."""
    bodies = four_bar(["revolute"] * 4).bodies
    for tilt in (1e-7, 1e-10):
        joints = list(four_bar(["revolute"] * 4).joints)
        joints[1] = Joint("revolute", joints[1].bodies, joints[1].points, (tilt, 0, 1))
        if tilt > 1e-9:
            with pytest.raises(md.ManipDynError, match="at least one degree of freedom"):
                Mechanism(bodies, joints)
        else:
            motion = simulate_mechanism(Mechanism(bodies, joints, (), DOWN), 1.0)
            assert motion.success
            assert 1e-11 < motion.violation < 1e-8


def test_a_violated_redundant_constraint_ends_the_motion(monkeypatch):
    mechanism = four_bar(["revolute"] * 4)
    mechanism._targets = mechanism._targets.copy()
    mechanism._targets[mechanism.partition.redundant[0]] += 1e-6
    motion = simulate_mechanism(mechanism, 1.0)
    assert not motion.success
    assert "redundant constraints are violated by 1e-06" in motion.reason


# -------------------------------------------------------------------- change points
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize(
    "kinds",
    [
        ("universal", "revolute", "revolute", "spherical"),
        ("spherical", "universal", "revolute", "revolute"),
    ],
)
def test_a_linkage_crosses_its_change_points(kinds, rtol):
    """Bennett's linkage has change points without redundant constraints, and none with them."""
    redundant, free = bennett(spin=5.0), bennett(kinds, spin=5.0)
    assert free.redundant == ()
    motions = [simulate_mechanism(item, 1.5, rtol=rtol) for item in (redundant, free)]
    assert motions[1].success, motions[1].reason
    assert motions[1].statistics.steps < 3 * motions[0].statistics.steps
    assert drift(free, motions[1]) < max(1e3 * rtol, 1e-5)  # J, of some 30
    np.testing.assert_allclose(motions[1].q[-1][:14], motions[0].q[-1][:14], atol=1e4 * rtol)


def slider_crank(length, spin, angle=0.7, forces=()):
    r = 0.5
    pin = r * np.array([np.cos(angle), np.sin(angle), 0.0])
    lean = -np.arcsin(pin[1] / length)
    end = pin + length * np.array([np.cos(lean), np.sin(lean), 0.0])
    slope = -pin[0] / (length * np.cos(lean))
    pin_rate = spin * np.array([-pin[1], pin[0], 0.0])
    end_rate = pin_rate + spin * slope * np.array([pin[1], length * np.cos(lean), 0.0])
    bodies = [
        rod("crank", (0, 0, 0), pin, 2.0, 0.5 * pin_rate, spin),
        rod("rod", pin, end, 1.0, 0.5 * (pin_rate + end_rate), spin * slope),
        MovingBody("slider", 3.0, (1, 1, 1), end, velocity=end_rate),
    ]
    joints = [
        Joint("revolute", ("ground", "crank"), (0, 0, 0), Z),
        Joint("revolute", ("crank", "rod"), pin, Z),
        Joint("revolute", ("rod", "slider"), end, Z),
        Joint("translational", ("ground", "slider"), end, (1, 0, 0)),
    ]
    return Mechanism(bodies, joints, forces, (0, 0, 0))


@pytest.mark.parametrize("rtol", [1e-4, 1e-7])
def test_a_slider_crank_of_equal_lengths_crosses_its_change_points(rtol):
    """In one angle: the rod mirrors the crank, and the slider is at 2 r cos(angle)."""
    mechanism = slider_crank(0.5, 4.0)
    assert len(mechanism.redundant) == 3

    def inertia(angle):  # of crank, rod and slider, kg m^2
        middle = 0.25 * (9 * np.sin(angle) ** 2 + np.cos(angle) ** 2)
        return 0.25 * (2 / 3 + middle + 1 / 12 + 12 * np.sin(angle) ** 2)

    start = inertia(0.7) * 16.0
    rates = lambda _t, y: np.sqrt(start / inertia(y))  # noqa: E731
    angle = solve_ivp(rates, (0, 2.0), [0.7], rtol=1e-11, atol=1e-11).y[0, -1]
    assert angle > 0.7 + 2 * np.pi  # past both points at least twice
    motion = simulate_mechanism(mechanism, 2.0, rtol=rtol)
    assert motion.success, motion.reason
    assert motion.q[-1, 14] == pytest.approx(np.cos(angle), abs=300 * rtol)


@pytest.mark.parametrize("method", ["rosenbrock_nystrom", "rkdp54"])
@pytest.mark.parametrize(("rtol", "within"), [(1e-1, 2.0), (1e-2, 1.0), (1e-3, 1.0), (1e-4, 0.1)])
def test_wide_tolerances_follow_the_same_motion(method, rtol, within):
    """One step may cross a change point; narrow tolerances then resolve the motion."""
    mechanism = slider_crank(0.5, 4.0)
    motion = simulate_mechanism(mechanism, 2.0, rtol=rtol, method=method)
    assert motion.success, motion.reason
    np.testing.assert_allclose(motion.q[:, 14], 4 * motion.q[:, 0], atol=1e-9)  # not folded
    start = energy(mechanism, motion.q[0], motion.v[0])
    assert drift(mechanism, motion) < within * start
    assert motion.q[:, 14].min() < -0.99  # past both points


def test_a_parallelogram_of_four_revolute_joints_does_not_fold():
    corners = ((0, 0, 0), (0, 1.0, 0), (2.0, 1.0, 0), (2.0, 0, 0))
    swing = {"velocity": (-1.5, 0, 0), "spin": 3.0}
    moving = {"crank": swing, "rocker": swing, "coupler": {"velocity": (-3.0, 0, 0)}}
    mechanism = four_bar(["revolute"] * 4, corners, gravity=(0, 0, 0), **moving)
    motion = simulate_mechanism(mechanism, 3.0, rtol=1e-6)
    assert motion.success
    error = 2 * np.arctan2(motion.q[-1, 6], motion.q[-1, 3]) - (9.0 + np.pi / 2)  # uniform
    assert np.sin(error / 2) == pytest.approx(0.0, abs=1e-3)
    np.testing.assert_allclose(motion.q[-1, 11:14], 0.0, atol=1e-3)  # the coupler is level


def test_a_change_point_with_an_undetermined_motion_is_reported():
    """A crank comes to rest there, or a mechanism starts there."""
    spring = RotationalSpring(("ground", "crank"), Z, 400.0, 300.0, np.pi / 2 - 0.7)
    motion = simulate_mechanism(slider_crank(0.5, 0.0, forces=[spring]), 100.0, rtol=1e-4)
    assert not motion.success
    assert re.search(r"singular position at t = (9|10)\.", motion.reason)
    assert abs(motion.q[-1, 14]) < 1e-4
    with pytest.raises(md.ManipDynError, match=r"singular position: .*crank-rod"):
        slider_crank(0.5, 0.0, np.pi / 2)
    with pytest.raises(md.ManipDynError, match="singular position"):
        slider_crank(0.5, 0.0).starting_at(slider_crank_folded(), None)


def slider_crank_folded():
    """Return the coordinates (21,) of the slider-crank at its change point."""
    up, down = np.array([0, 0.25, 0]), np.array([0.5**0.5, 0, 0, 0.5**0.5])
    start = slider_crank(0.5, 0.0).q0
    turned = Rotation.from_euler("z", -np.pi / 2).as_quat()[[3, 0, 1, 2]]
    slider = np.concatenate([np.zeros(3), start[17:]])
    return np.concatenate([up, down, up, turned, slider])


def test_a_duplicate_joint_counts_once():
    bodies = [rod("arm", (0, 0, 0), (2, 0, 0))]
    pin = Joint("revolute", ("ground", "arm"), (0, 0, 0), Z, "pin")
    twice = Mechanism(bodies, [pin, Joint("spherical", ("ground", "arm"), name="twice")], (), DOWN)
    assert twice.freedoms == 1
    assert len(twice.redundant) == 3
    assert twice.redundant[0].split(",")[0] in ("pin", "twice")
    ends = [simulate_mechanism(m, 0.5).q[-1] for m in (twice, Mechanism(bodies, [pin], (), DOWN))]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-6)


def test_redundant_constraints_have_different_names():
    """Joints with equal names, or without, are numbered, and so are constraints of one joint."""
    bodies = [rod("arm", (0, 0, 0), (2, 0, 0)), rod("tip", (2, 0, 0), (4, 0, 0))]
    for name in ("", "pin"):
        pins = [Joint("revolute", ("ground", "arm"), (0, 0, z), Z, name) for z in (0, 0.1)]
        glue = [Joint("fixed", ("arm", "tip"), (2, 0, 0), name=name) for _ in range(2)]
        mechanism = Mechanism(bodies, [*pins, *glue], (), DOWN)
        assert len(mechanism.redundant) == 11
        assert len(set(mechanism.redundant)) == 11
    assert {item.split(", ")[0] for item in mechanism.redundant} <= {
        f"pin ({k})" for k in range(1, 5)
    }
    rows = np.arange(mechanism.constraints + 11)
    assert len(set(mechanism.names_of(rows))) == len(rows)


@pytest.mark.parametrize("period", [0.02, 0.005])
def test_periods_may_end_near_a_change_point(period):
    """Steps across continue beyond the end of a period; a cubic interpolates the state there."""
    mechanism = slider_crank(0.5, 4.0)
    simulation = md.MechanismSimulation(mechanism, rtol=1e-9)
    times = []
    for k in range(1, round(1.2 / period) + 1):
        for part in simulation.advance_to(k * period):
            times += part.t.tolist()
            assert simulation.t <= k * period
    assert simulation.reason == ""
    assert np.diff(times).min() >= 0.0
    whole = simulate_mechanism(mechanism, 1.2, rtol=1e-9)
    np.testing.assert_allclose(simulation.q, whole.q[-1], atol=1e-5)
    assert simulation.violation < 1e-6
