"""Robots for tests: a small arm to modify, random trees, and robots of example-robot-data."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.spatial.transform import Rotation

from manip_dyn import Robot, load_robot
from manip_dyn.core import share_directory

SHIPPED = (
    "cylindrical",
    "ibm7535",
    "one_link_horizontal",
    "one_link_vertical",
    "pa10",
    "rr",
    "stiff_pendulum",
)
PANDA = "panda_description/urdf/panda.urdf"
UR5 = "ur_description/urdf/ur5_robot.urdf"
EXAMPLES = {
    "ur3": "ur_description/urdf/ur3_robot.urdf",
    "ur5": UR5,
    "ur10": "ur_description/urdf/ur10_robot.urdf",
    "kinova": "kinova_description/robots/kinova.urdf",
    "xarm7": "xarm_description/urdf/xarm7.urdf",
    "z1": "z1_description/urdf/z1.urdf",
    "so100": "so_arm_description/urdf/so100.urdf",
}

ARM = """<robot name="arm">
  <link name="base"/>
  <joint name="shoulder" type="revolute">
    <parent link="base"/> <child link="upper"/>
    <origin xyz="0 0 0.3" rpy="0 0 0"/> <axis xyz="0 1 0"/>
    <limit lower="-2" upper="2.5" velocity="3" effort="50"/> <dynamics damping="0.5"/>
  </joint>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 0.2"/> <mass value="4"/>
      <inertia ixx="0.05" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.02"/>
    </inertial>
  </link>
  <joint name="elbow" type="revolute">
    <parent link="upper"/> <child link="lower"/>
    <origin xyz="0 0 0.4"/> <axis xyz="1 0 0"/>
    <limit lower="-1.5" upper="1.5" velocity="5" effort="20"/>
  </joint>
  <link name="lower">
    <inertial>
      <origin xyz="0 0 0.1"/> <mass value="2"/>
      <inertia ixx="0.03" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.01"/>
    </inertial>
  </link>
  <joint name="flange" type="fixed">
    <parent link="lower"/> <child link="tool0"/> <origin xyz="0 0 0.25"/>
  </joint>
  <link name="tool0"/>
</robot>
"""


def changed(text: str, *changes: tuple[str, str]) -> str:
    """Return a text with every (old, new) replaced once."""
    for old, new in changes:
        assert old in text, f"nothing to change: {old}"
        text = text.replace(old, new, 1)
    return text


def write(folder: Path, urdf: str, extras: str | dict[str, Any] | None = None) -> Path:
    """Write a URDF and a YAML file of the same stem into `folder`."""
    path = folder / "arm.urdf"
    path.write_text(urdf, encoding="utf-8")
    if extras is not None:
        content = extras if isinstance(extras, str) else yaml.safe_dump(extras)
        path.with_suffix(".yaml").write_text(content, encoding="utf-8")
    return path


def write_shipped(folder: Path, name: str, *changes: tuple[str, str], **extras: Any) -> Path:
    """Write a copy of a shipped robot with changes of its URDF and its YAML file."""
    urdf = share_directory() / "urdf" / f"{name}.urdf"
    extras_file = urdf.with_suffix(".yaml")
    text = extras_file.read_text(encoding="utf-8") if extras_file.is_file() else "{}"
    content = yaml.safe_load(text)
    return write(folder, changed(urdf.read_text(encoding="utf-8"), *changes), content | extras)


def example(path: str) -> Path:
    """Return a URDF of the package example-robot-data; skip the test if it is not installed."""
    folder = _example_folder()
    if folder is None:
        pytest.skip("example-robot-data is not installed; pip install '.[test]'")
    return folder / path


def examples() -> list[Path]:
    """Return all URDFs of the package example-robot-data, if it is installed."""
    folder = _example_folder()
    return [] if folder is None else sorted(folder.rglob("*.urdf"))


def _example_folder() -> Path | None:
    try:
        files = distribution("example-robot-data")
    except PackageNotFoundError:
        return None
    return Path(str(files.locate_file("cmeel.prefix/share/example-robot-data/robots")))


def load(name: str, folder: Path) -> Robot:
    """Return a robot by name: shipped, ``panda`` without fingers, ``ur5``, ``tree1``, ..."""
    if name == "panda":
        return load_robot(example(PANDA), lock={"panda_finger_joint1": 0.02})
    if name in EXAMPLES:
        return load_robot(example(EXAMPLES[name]))
    if name.startswith("tree"):
        return load_robot(random_tree(folder, int(name[4:])))
    return load_robot(name)


def random_tree(folder: Path, seed: int, joints: int = 6, branches: int = 0) -> Path:
    """Write a random branched robot with all kinds of joints, links and extras.

    With `branches`, that many chains of nearly equal length are attached to the base.
    """
    rng = np.random.default_rng(seed)
    if branches:
        return _random_robot(folder, rng, joints, lambda i: max(i - branches, 0))
    return _random_robot(folder, rng, joints, lambda i: int(rng.integers(i)))


def random_chain(folder: Path, seed: int, joints: int) -> Path:
    """Write a random robot without branches, otherwise like `random_tree`."""
    return _random_robot(folder, np.random.default_rng(seed), joints, lambda i: i - 1)


def _random_robot(
    folder: Path, rng: np.random.Generator, joints: int, parent_of: Callable[[int], int]
) -> Path:
    parts, names = [_link("link_0", rng)], [f"joint_{i}" for i in range(1, joints + 1)]
    for i, name in enumerate(names, start=1):
        kind = ("revolute", "continuous", "prismatic")[i % 3]
        parts += [_joint(name, kind, f"link_{parent_of(i)}", f"link_{i}", rng)]
        parts += [_link(f"link_{i}", rng)]
    parts += [_joint("side", "fixed", "link_1", "link_side", rng), _link("link_side", rng)]
    stiffness, rest = rng.uniform(1, 9, size=joints), rng.normal(size=joints)
    extras = {
        "gravity": rng.normal(size=3).tolist(),
        "armature": {name: float(rng.uniform(0.1, 0.5)) for name in names},
        "springs": {
            name: {"stiffness": float(stiffness[i]), "rest": float(rest[i])}
            for i, name in enumerate(names)
        },
        "payload": {
            "link": f"link_{joints}",
            "mass": 1.5,
            "com": rng.normal(size=3).tolist(),
            "inertia": [0.3, 0.2, 0.25, 0.01, -0.02, 0.03],
        },
    }
    return write(folder, f'<robot name="tree">{"".join(parts)}</robot>', extras)


def random_state(robot: Robot, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Return random positions inside the limits, velocities and efforts, each (n,)."""
    q = rng.uniform(np.maximum(robot.q_min, -3.0), np.minimum(robot.q_max, 3.0))
    return q, rng.normal(size=robot.n), rng.normal(size=robot.n)


def _joint(name: str, kind: str, parent: str, child: str, rng: np.random.Generator) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{_three(rng)}" rpy="{_three(rng)}"/><axis xyz="{_three(rng)}"/>'
        f'<limit lower="-3" upper="3" velocity="9" effort="9"/>'
        f'<dynamics damping="{rng.uniform(0.1, 2.0)}"/></joint>'
    )


def _link(name: str, rng: np.random.Generator) -> str:
    turn = Rotation.from_euler("xyz", rng.normal(size=3)).as_matrix()
    tensor = turn @ np.diag(rng.uniform(0.5, 0.9, size=3)) @ turn.T
    ixx, ixy, ixz, iyy, iyz, izz = tensor[np.triu_indices(3)]
    return (
        f'<link name="{name}"><inertial><origin xyz="{_three(rng)}" rpy="{_three(rng)}"/>'
        f'<mass value="{rng.uniform(1, 3)}"/><inertia ixx="{ixx}" ixy="{ixy}" ixz="{ixz}" '
        f'iyy="{iyy}" iyz="{iyz}" izz="{izz}"/></inertial></link>'
    )


def _three(rng: np.random.Generator) -> str:
    return " ".join(str(x) for x in rng.normal(scale=0.7, size=3))
