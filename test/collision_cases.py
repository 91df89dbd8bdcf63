"""Random arms, scenes and motions for collision checks, and planted cases with exact distances."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import CubicSpline

import manip_dyn as md

LINK = """
  <link name="l{k}">
    <inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    {shape}
  </link>
  <joint name="j{k}" type="{kind}">
    <parent link="{parent}"/><child link="l{k}"/>
    <origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/>
    <limit lower="-3" upper="3" velocity="5" effort="50"/>
  </joint>"""


def words(values):
    """Return numbers as an attribute of a URDF."""
    return " ".join(repr(float(value)) for value in np.ravel(values))


def collision(shape, xyz=(0.0, 0.0, 0.0), rpy=(0.0, 0.0, 0.0)):
    """Return a collision element."""
    origin = f'<origin xyz="{words(xyz)}" rpy="{words(rpy)}"/>'
    return f"<collision>{origin}<geometry>{shape}</geometry></collision>"


def random_shape(rng):
    """Return a random shape as an element of a URDF."""
    a, b, c = rng.uniform(0.03, 0.3, 3)
    return (
        f'<box size="{a} {b} {c}"/>',
        f'<sphere radius="{0.5 * a}"/>',
        f'<cylinder radius="{0.3 * a}" length="{b}"/>',
    )[rng.integers(3)]


def random_arm(rng, joints=4):
    """Return an arm of revolute and prismatic joints with a random shape on each link."""
    links = []
    for k in range(joints):
        links.append(
            LINK.format(
                k=k,
                shape=collision(
                    random_shape(rng), rng.uniform(-0.1, 0.1, 3), rng.uniform(-2, 2, 3)
                ),
                kind="prismatic" if rng.random() < 0.25 else "revolute",
                parent=f"l{k - 1}" if k else "base",
                xyz=words(rng.uniform(-0.3, 0.3, 3)),
                rpy=words(rng.uniform(-2, 2, 3)),
                axis=words(rng.normal(size=3)),
            )
        )
    base = f'<link name="base">{collision(random_shape(rng))}</link>'
    return md.load_robot(f'<robot name="random">{base}{"".join(links)}</robot>')


def random_scene(rng, count=3, reach=1.0):
    """Return a scene of random objects and possibly a half-space."""
    scene = md.Scene()
    for k in range(count):
        a, b, c = rng.uniform(0.02, 0.3, 3)
        shapes = (
            md.Box([a, b, c]),
            md.Box([a, b, 1e-4]),
            md.Sphere(0.5 * a),
            md.Cylinder(0.3 * a, b),
            md.Capsule(0.3 * a, b),
        )
        scene = scene.add(
            f"object{k}",
            shapes[rng.integers(5)],
            rng.uniform(-reach, reach, 3),
            rng.uniform(-2, 2, 3),
            padding=0.0 if rng.random() < 0.7 else 0.02,
        )
    if rng.random() < 0.3:
        scene = scene.add("floor", md.HalfSpace(), [0.0, 0.0, -0.8], rng.uniform(-0.5, 0.5, 3))
    return scene


def random_spline(rng, n, size=0.7):
    """Return a cubic spline with 4 knots through random postures (n,)."""
    begin = rng.uniform(-1.5, 1.5, n)
    points = begin + np.cumsum(rng.normal(size=(4, n)) * size, axis=0)
    return CubicSpline(np.linspace(0.0, 1.0, 4), points)


def moving_ball(kind, radius=0.1, reach=0.0):
    """Return an arm with one joint about or along y that moves a ball at a distance along x."""
    shape = collision(f'<sphere radius="{radius}"/>', (reach, 0.0, 0.0))
    link = LINK.format(
        k=0, shape=shape, kind=kind, parent="base", xyz="0 0 0", rpy="0 0 0", axis="0 1 0"
    )
    return md.load_robot(f'<robot name="ball"><link name="base"/>{link}</robot>')
