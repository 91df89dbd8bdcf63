"""Random arms, scenes and motions for collision checks, and planted cases with exact distances.

``python test/collision_cases.py COUNT [SEED]`` checks planted cases and prints the results.
"""

from __future__ import annotations

import sys
from collections import Counter
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

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


@lru_cache(maxsize=256)
def two_balls(radius, size, gap):
    """Return an arm with two branches. Each moves a ball along y; they pass at a distance."""
    links = [
        LINK.format(
            k=k,
            shape=collision(f'<sphere radius="{r}"/>'),
            kind="prismatic",
            parent="base",
            xyz=xyz,
            rpy="0 0 0",
            axis="0 1 0",
        )
        for k, r, xyz in ((0, radius, "0 0 0"), (1, size, words((radius + size + gap, 0, 0))))
    ]
    return md.load_robot(f'<robot name="balls"><link name="base"/>{"".join(links)}</robot>')


_folder = TemporaryDirectory()
CHANNEL = [(-2, -1), (2, -1), (2, 3), (1, 3), (1, 0), (-1, 0), (-1, 3), (-2, 3)]
"""Corners (x, y) of the cross-section of a channel with the hollow -1 < x < 1, y > 0."""


@lru_cache(maxsize=8)
def channel(radius):
    """Return an arm that moves a ball along x and y in a mesh of a channel, which is divided.

    The single hull of the mesh always touches the ball. The walls of the hollow, 2 m apart, are
    faces of hulls for y > 1 m, where the ball moves.
    """
    path = Path(_folder.name) / "channel.obj"
    caps = [(1, 2, 5), (1, 5, 6), (1, 6, 8), (6, 7, 8), (2, 3, 5), (3, 4, 5)]
    lines = [f"v {x} {y} {z}" for z in (-1, 1) for x, y in CHANNEL]
    lines += [f"f {a + 8} {b + 8} {c + 8}\nf {c} {b} {a}" for a, b, c in caps]
    sides = [(a, a % 8 + 1) for a in range(1, 9)]
    lines += [f"f {a} {b} {b + 8}\nf {a} {b + 8} {a + 8}" for a, b in sides]
    path.write_text("\n".join(lines))
    mesh = collision(f'<mesh filename="{path}"/>')
    shapes = "", collision(f'<sphere radius="{radius}"/>')
    links = "".join(
        LINK.format(
            k=k,
            shape=shapes[k],
            kind="prismatic",
            parent="l0" if k else "base",
            xyz="0 1 0",
            rpy="0 0 0",
            axis=("0 1 0", "1 0 0")[k],
        ).replace('lower="-3" upper="3"', 'lower="-0.3" upper="0.6"')
        for k in range(2)
    )
    base = f'<link name="base">{mesh}</link>'
    return md.load_robot(f'<robot name="channel">{base}{links}</robot>')


_ball = lru_cache(maxsize=64)(moving_ball)
RADII = (0.01, 0.03, 0.1)


def planted_case(rng):
    """Return an arm, a motion, a scene, and the exact least distance (m) of the motion.

    A ball, or a part that is attached to it, passes a sphere, capsule or thin plate on a line or a
    circle, reverses near a wall or in a channel of several hulls, or passes a second moving ball.
    Gaps are between 1e-8 and 0.1 m and of either sign.
    """
    kind = ("line", "plate", "circle", "wall", "two", "channel", "part")[rng.integers(7)]
    radius, size = rng.choice(RADII), rng.choice(RADII)
    gap = float(10.0 ** rng.uniform(-8, -1))
    if rng.random() < 0.5:
        gap = -min(gap, 0.9 * radius, 0.9 * size)
    scene, place, turn = md.Scene(), rng.uniform(-0.9, 0.9), rng.uniform(-3.0, 3.0)
    inner = np.sort(rng.uniform(-1.0, 1.0, rng.integers(0, 3)))
    knots = np.array([-1.0, *inner, 1.0])
    motion = CubicSpline(np.linspace(0.0, 1.0, len(knots)), knots[:, None])
    if kind == "two":
        gap = float(np.copysign(10.0 ** round(np.log10(abs(gap))), gap)) * 0.9
        begin = np.array([-0.6, 0.6]) + rng.uniform(-0.3, 0.3, 2)
        motion = CubicSpline([0.0, 0.5, 1.0], [begin, 0.2 * rng.normal(size=2), -begin])
        return two_balls(radius, size, gap), motion, scene, gap
    if kind == "channel":
        at, width = rng.uniform(0.1, 0.9), 1.0 - radius - gap
        times = np.array([0.0, 0.5, 1.0])
        across = np.copysign(1.0, turn) * (width - 0.5 * (times - at) ** 2)
        along = rng.uniform(-0.2, 0.2, 3)
        return channel(radius), CubicSpline(times, np.stack([along, across], 1)), scene, gap
    if kind == "circle":
        robot = _ball("revolute", radius, 0.5)
        away = 0.5 + (radius + size + gap) * (1.0 if rng.random() < 0.5 else -1.0)
        position = [away * np.cos(place), 0.0, -away * np.sin(place)]
        shape = md.Sphere(size) if rng.random() < 0.5 else md.Capsule(size, 0.3)
        rpy = (np.pi / 2, 0.0, 0.0)
        return robot, motion, scene.add("post", shape, position, rpy), gap
    robot = _ball("prismatic", radius)
    if kind == "wall":
        at = rng.uniform(0.1, 0.9)
        motion = CubicSpline([0.0, 0.5, 1.0], -((np.array([[0.0], [0.5], [1.0]]) - at) ** 2))
        scene = scene.add("wall", md.HalfSpace(), [0.0, radius + gap, 0.0], [np.pi / 2, 0.0, 0.0])
        return robot, motion, scene, gap
    direction = np.array([np.cos(turn), 0.0, -np.sin(turn)])
    if kind == "plate":
        thickness = 10.0 ** rng.uniform(-6, -3)
        shape, half = md.Box([0.4, thickness, 0.4]), 0.2
    else:
        shape, half = (
            (md.Sphere(size), size) if rng.random() < 0.5 else (md.Capsule(size, 0.3), size)
        )
    if kind == "part":
        part_size, padding = rng.choice(RADII), rng.choice([0.0, 0.01])
        part, rpy = (
            (md.Sphere(part_size), (0.0, 0.0, 0.0)),
            (md.Box([2.0 * part_size, 0.1, 0.1]), (0.0, turn, 0.0)),
            (md.Capsule(part_size, 0.2), (np.pi / 2, 0.0, 0.0)),
        )[rng.integers(3)]
        centre = (radius + part_size) * direction
        scene = scene.add("part", part, centre, rpy, link="l0", padding=padding)
        radius += 2.0 * part_size + padding
    position = (radius + half + gap) * direction + [0.0, place, 0.0]
    return robot, motion, scene.add("obstacle", shape, position, (0.0, turn, 0.0)), gap


def check_planted_cases(count, seed=0, band=1e-6):
    """Return the numbers of results of planted cases, by kind of result."""
    rng, results = np.random.default_rng(seed), Counter()
    for _ in range(count):
        robot, motion, scene, gap = planted_case(rng)
        result = md.check_motion(robot, motion, scene)
        wrong = result.clear is not None and result.clear != (gap > 0.0)
        if result.clear and result.least > gap:
            wrong = True
        near = abs(gap) <= band
        results["within the band" if near else "outside the band"] += 1
        results["false"] += int(wrong)
        name = "undecided within the band" if near else "undecided outside the band"
        results[name] += int(result.clear is None)
    return results


if __name__ == "__main__":
    print(dict(check_planted_cases(*map(int, sys.argv[1:]))))
