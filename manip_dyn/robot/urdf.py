"""A URDF as a tree of elements: rules for supported arms, and `Description`, an editable tree.

Supported robots are serial or branched trees with a fixed base and revolute, continuous, prismatic
and fixed joints. A joint with <mimic> is a linear function of another joint. Other types of joints
raise an error.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import NamedTuple
from xml.etree.ElementTree import Element

import numpy as np
from pinocchio import AngleAxis
from pinocchio.rpy import matrixToRpy, rpyToMatrix

from manip_dyn.core.checks import Matrix, Vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.robot.source import Source

MOVABLE = ("revolute", "continuous", "prismatic")
"""Joint types with one degree of freedom."""


class Mimic(NamedTuple):
    """Position of a mimic joint: ratio * (position of the joint `leader`) + offset, rad or m."""

    leader: str
    ratio: float
    offset: float


def links_of(root: Element) -> dict[str, Element]:
    """Return the links by name, in document order."""
    return {link.get("name", ""): link for link in root.findall("link")}


def joints_of(root: Element) -> dict[str, Element]:
    """Return the joints by name, in document order."""
    return {joint.get("name", ""): joint for joint in root.findall("joint")}


def movable_joints_of(root: Element) -> dict[str, Element]:
    """Return the movable joints by name, in document order."""
    return {name: j for name, j in joints_of(root).items() if j.get("type") in MOVABLE}


def parent_of(joint: Element) -> str:
    """Return the name of a joint's parent link, or "" if it has none."""
    parent = joint.find("parent")
    return "" if parent is None else parent.get("link", "")


def child_of(joint: Element) -> str:
    """Return the name of a joint's child link, or "" if it has none."""
    child = joint.find("child")
    return "" if child is None else child.get("link", "")


def root_links_of(root: Element) -> list[str]:
    """Return the links without a parent joint."""
    children = {child_of(joint) for joint in joints_of(root).values()}
    return [name for name in links_of(root) if name not in children]


def path_to(root: Element, link: str) -> list[str]:
    """Return the joint names from the base to `link`."""
    joints = joints_of(root)
    above = {child_of(joint): name for name, joint in joints.items()}
    path: list[str] = []
    while link in above:
        path.insert(0, above[link])
        link = parent_of(joints[path[0]])
    return path


INERTIA_KEYS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
NUMBERS = {
    "origin": {"xyz": 3, "rpy": 3},
    "axis": {"xyz": 3},
    "limit": {"lower": 1, "upper": 1, "effort": 1, "velocity": 1},
    "dynamics": {"damping": 1, "friction": 1},
    "mimic": {"multiplier": 1, "offset": 1},
    "mass": {"value": 1},
    "inertia": dict.fromkeys(INERTIA_KEYS, 1),
}
"""Number of values in each numeric attribute, by element."""

NOT_NEGATIVE = (
    ("limit", "effort"),
    ("limit", "velocity"),
    ("dynamics", "damping"),
    ("dynamics", "friction"),
)


def check_tree(where: str, root: Element) -> None:
    """Raise `ManipDynError` unless links and joints with unique names form a single tree."""
    names = [link.get("name", "") for link in root.findall("link")]
    joints = [joint.get("name", "") for joint in root.findall("joint")]
    if not names:
        raise ManipDynError(f"{where} has no links. Files of xacro macros are not robots.")
    for kind, listed in (("link", names), ("joint", joints)):
        if "" in listed:
            raise ManipDynError(f"{where} has a {kind} without a name.")
        duplicate = next((name for name in listed if listed.count(name) > 1), None)
        if duplicate is not None:
            raise ManipDynError(f"{where}: {kind} '{duplicate}' is defined twice.")
    _check_ends(where, root)
    roots = root_links_of(root)
    if len(roots) > 1:
        raise ManipDynError(
            f"{where} must have 1 root link, got {len(roots)} ({', '.join(roots)})."
        )
    cycle = sorted(set(names) - _reachable_from(root, roots))
    if cycle:
        raise ManipDynError(f"{where} must be a tree, but links {', '.join(cycle)} form a cycle.")


def check_numbers(where: str, root: Element) -> None:
    """Raise `ManipDynError` unless attributes in `NUMBERS` have the stated count of finite values.

    Missing attributes are accepted.
    """
    for kind in ("link", "joint"):
        for owner in root.findall(kind):
            label = f"{where}: {kind} '{owner.get('name')}'"
            for element in owner.iter():
                for key, count in NUMBERS.get(element.tag, {}).items():
                    text = element.get(key)
                    if text is not None:
                        values = numbers(f"{label}, {element.tag} {key}", text, count)
                        if not np.all(np.isfinite(values)):
                            raise ManipDynError(
                                f"{label}, {element.tag} {key} must be finite, got '{text}'."
                            )


def check_joints(where: str, root: Element) -> None:
    """Raise `ManipDynError` for invalid limits, negative friction or a zero axis.

    Only movable joints are checked.
    """
    for name, joint in movable_joints_of(root).items():
        label = f"{where}: joint '{name}'"
        limit, axis = joint.find("limit"), joint.find("axis")
        if joint.get("type") != "continuous":
            if limit is None:
                raise ManipDynError(f"{label} has no <limit>; add effort and velocity.")
            missing = next(
                (key for key in ("effort", "velocity") if key not in limit.attrib), None
            )
            if missing is not None:
                raise ManipDynError(f"{label} has a <limit> without {missing}.")
            lower, upper = (float(limit.get(key, "0")) for key in ("lower", "upper"))
            if lower > upper:
                raise ManipDynError(f"{label} has lower {lower:g} above upper {upper:g}.")
        for tag, key in NOT_NEGATIVE:
            element = joint.find(tag)
            value = 0.0 if element is None else float(element.get(key, "0"))
            if value < 0.0:
                raise ManipDynError(f"{label}: {key} must be at least 0, got {value:g}.")
        if axis is not None and np.linalg.norm(numbers(label, axis.get("xyz", "1 0 0"), 3)) < 1e-9:
            raise ManipDynError(f"{label}: axis must not be zero, got '{axis.get('xyz')}'.")


def mimics_of(where: str, root: Element) -> dict[str, Mimic]:
    """Return the mimic joints by name, each relative to an independent joint.

    Raises:
        ManipDynError: If a joint mimics a joint that does not exist or cannot move, or mimic
            joints form a cycle.
    """
    movable = movable_joints_of(root)
    mimics = {name: _mimic_of(joint) for name, joint in movable.items() if _is_mimic(joint)}
    lost = lost_mimics_of(root)
    if lost:
        raise ManipDynError(
            f"{where}: joint '{lost[0]}' mimics '{mimics[lost[0]].leader}', which must be a "
            f"movable joint of the robot. Lock it with {_lock_options(movable, lost)}."
        )
    for name, mimic in mimics.items():
        visited = [name]
        while mimic.leader in mimics:
            visited.append(mimic.leader)
            if visited.count(mimic.leader) > 1:
                raise ManipDynError(f"{where}: joints {', '.join(visited)} mimic each other.")
            above = mimics[mimic.leader]
            offset = mimic.offset + mimic.ratio * above.offset
            mimic = Mimic(above.leader, mimic.ratio * above.ratio, offset)
        mimics[name] = mimic
    return mimics


def lost_mimics_of(root: Element) -> list[str]:
    """Return the names of mimic joints that follow a joint that does not exist or cannot move."""
    movable = movable_joints_of(root)
    mimics = {name: _mimic_of(joint) for name, joint in movable.items() if _is_mimic(joint)}
    return [name for name, mimic in mimics.items() if mimic.leader not in movable]


def resting_position(joint: Element) -> float:
    """Return the position within the limits of a movable joint that is closest to 0, rad or m.

    The result is 0 if a limit is not a number.
    """
    limit = joint.find("limit")
    if joint.get("type") == "continuous" or limit is None:
        return 0.0
    try:
        return min(max(0.0, float(limit.get("lower", 0.0))), float(limit.get("upper", 0.0)))
    except ValueError:  # other checks report limits that are not numbers
        return 0.0


def _lock_options(movable: Mapping[str, Element], names: Sequence[str]) -> str:
    """Return the options that lock joints, for the command line and for Python."""
    positions = {name: resting_position(movable[name]) for name in names}
    options = " ".join(f"--lock {name}={position:g}" for name, position in positions.items())
    return f"{options} (Python: lock={positions})"


def _is_mimic(joint: Element) -> bool:
    return joint.find("mimic") is not None


def _mimic_of(joint: Element) -> Mimic:
    element = joint.find("mimic")
    keys = {} if element is None else element.attrib
    ratio, offset = float(keys.get("multiplier", 1.0)), float(keys.get("offset", 0.0))
    return Mimic(keys.get("joint", ""), ratio, offset)


MAX_JOINTS = 200
"""Largest number of movable joints. The loading time grows with the cube of this number."""


def check_dynamics(where: str, root: Element, view: str) -> None:
    """Raise `ManipDynError` for unsupported dynamics.

    Unsupported are other joint types, robots without a movable joint or with more than
    `MAX_JOINTS`, movable links without mass, negative masses, and negative principal inertias.

    Args:
        where: Subject of the error messages.
        root: Root element of the URDF.
        view: Command that shows the robot.
    """
    for name, joint in joints_of(root).items():
        kind = joint.get("type")
        if kind not in (*MOVABLE, "fixed"):
            raise ManipDynError(
                f"{where}: joint '{name}' must be revolute, continuous, prismatic or fixed, got "
                f"{kind}. Set its type to fixed in the URDF, or set a tip before it to omit it."
            )
    if not movable_joints_of(root):
        raise ManipDynError(
            f"{where} must have at least one movable joint, got no movable joint. It can only be "
            f"shown: {view}"
        )
    if len(movable_joints_of(root)) > MAX_JOINTS:
        raise ManipDynError(
            f"{where} must have at most {MAX_JOINTS} movable joints, got "
            f"{len(movable_joints_of(root))}. Hold joints fixed with lock, or set a tip."
        )
    for name in moving_links_of(root):
        _check_body(f"{where}: link '{name}'", links_of(root)[name])
    movable = movable_joints_of(root)
    weightless = [n for n, joint in movable.items() if _rigid_mass(root, child_of(joint)) <= 0.0]
    if weightless:
        first = weightless[0]
        hint = f", or lock such joints with {_lock_options(movable, weightless)}."
        if len(weightless) == len(movable):
            hint = (
                ". Without masses, the robot can be checked for collisions after "
                f"manip_dyn.robot.load_kinematics, and shown: {view}"
            )
        raise ManipDynError(
            f"{where}: link '{child_of(movable[first])}' behind joint '{first}' has no mass. Add "
            f"an <inertial> with a mass above 0{hint}"
        )


def principal_inertias(tensor: Matrix) -> tuple[Vector, float]:
    """Return the principal moments (3,) of an inertia (3, 3) and their tolerance, kg m^2.

    The tolerance is 0.1 % of the largest moment, because URDFs contain rounded numbers.
    """
    moments: Vector = np.linalg.eigvalsh(tensor)  # type: ignore[assignment]
    return moments, 1e-3 * float(np.abs(moments).max()) + 1e-12


def check_inertia_tensor(where: str, tensor: Vector) -> None:
    """Raise `ManipDynError` unless an inertia (3, 3), kg m^2, is physically possible.

    The inertia is about the centre of mass. Principal moments must not be negative, and none may
    exceed the sum of the other two. The tolerance is 0.1 %, because URDFs contain rounded numbers.
    """
    moments, slack = principal_inertias(tensor)
    if moments[0] < -slack or moments[2] > moments[0] + moments[1] + slack:
        raise ManipDynError(
            f"{where} has the non-physical principal inertias {moments.tolist()} kg m^2. None may "
            "be negative or exceed the sum of the other two."
        )


def numbers(where: str, text: str, count: int) -> Vector:
    """Parse `count` numbers in `text`; raise `ManipDynError` for another count or NaN."""
    try:
        values = [float(word) for word in text.split()]
    except ValueError:
        values = []
    if len(values) != count or any(math.isnan(value) for value in values):
        raise ManipDynError(f"{where} must be {count} number(s), got '{text}'.")
    return np.array(values)


def _check_ends(where: str, root: Element) -> None:
    """Raise `ManipDynError` for joints without links, and for links with two parents."""
    names, parent = links_of(root), dict[str, str]()
    for name, joint in joints_of(root).items():
        for role, link in (("parent", parent_of(joint)), ("child", child_of(joint))):
            if link not in names:
                raise ManipDynError(
                    f"{where}: joint '{name}' has the {role} link '{link}', which does not exist."
                )
        child = child_of(joint)
        if child in parent:
            raise ManipDynError(
                f"{where}: link '{child}' has two parent joints ('{parent[child]}' and '{name}'); "
                "the links must form a tree."
            )
        parent[child] = name


def _reachable_from(root: Element, links: list[str]) -> set[str]:
    reachable, waiting = set[str](), list(links)
    while waiting:
        reachable.update(waiting)
        waiting = [child_of(j) for j in joints_of(root).values() if parent_of(j) in waiting]
    return reachable


def _check_body(where: str, link: Element) -> None:
    inertial = link.find("inertial")
    if inertial is None:
        return
    mass, tensor = inertial.find("mass"), inertial.find("inertia")
    if mass is None or tensor is None:
        missing = "mass" if mass is None else "inertia"
        raise ManipDynError(f"{where} has an <inertial> without <{missing}>.")
    if numbers(f"{where}, mass", mass.get("value", ""), 1)[0] < 0.0:
        raise ManipDynError(f"{where}: mass must be at least 0 kg, got {mass.get('value')} kg.")
    absent = [key for key in INERTIA_KEYS if key not in tensor.attrib]
    if absent:  # urdfdom would drop the whole <inertial>
        raise ManipDynError(f"{where} has an <inertia> without {', '.join(absent)}.")
    moments, slack = principal_inertias(_tensor(tensor))
    if moments[0] < -slack:
        raise ManipDynError(
            f"{where} has the non-physical principal inertias {moments.tolist()} kg m^2. None may "
            "be negative."
        )


def _tensor(inertia: Element) -> Matrix:
    ixx, ixy, ixz, iyy, iyz, izz = (float(inertia.get(key, "0")) for key in INERTIA_KEYS)
    return np.array([[ixx, ixy, ixz], [ixy, iyy, iyz], [ixz, iyz, izz]])


def inertia_notes(root: Element) -> list[str]:
    """Return a sentence for each moving link whose inertia no mass distribution has.

    One of its principal moments exceeds the sum of the other two by more than the tolerance of
    `principal_inertias`. The equations of motion remain well defined.
    """
    notes = []
    for name in moving_links_of(root):
        element = links_of(root)[name].find("inertial/inertia")
        if element is None:
            continue
        moments, slack = principal_inertias(_tensor(element))
        if moments[2] > moments[0] + moments[1] + slack:
            values = ", ".join(f"{moment:.3g}" for moment in moments)
            notes.append(
                f"link '{name}': no mass distribution has the principal inertias {values} kg m^2, "
                "because one exceeds the sum of the other two"
            )
    return notes


def moving_links_of(root: Element) -> list[str]:
    """Return the links that are not rigidly fixed to the base."""
    movable = movable_joints_of(root).values()
    moving = {child_of(joint) for joint in movable}
    above = {child_of(joint): parent_of(joint) for joint in joints_of(root).values()}

    def moves(link: str) -> bool:
        while link in above and link not in moving:
            link = above[link]
        return link in moving

    return [name for name in links_of(root) if moves(name)]


def _rigid_mass(root: Element, link: str) -> float:
    """Return the mass of `link` and of all links fixed behind it, kg."""
    element = links_of(root)[link].find("inertial/mass")
    mass = 0.0 if element is None else float(element.get("value", ""))
    fixed = (j for j in joints_of(root).values() if j.get("type") == "fixed")
    return mass + sum(_rigid_mass(root, child_of(j)) for j in fixed if parent_of(j) == link)


class Description:
    """A URDF tree with methods that modify it in place."""

    def __init__(self, source: Source):
        """Parse a URDF; raise `ManipDynError` for invalid XML, trees, numbers and joints."""
        where = f"robot {source.label}"
        try:
            self.root = ElementTree.fromstring(source.text)
        except (ElementTree.ParseError, LookupError, ValueError) as error:
            raise ManipDynError(f"{where} is not well-formed XML: {error}.") from error
        if self.root.tag != "robot":
            raise ManipDynError(f"{where}: root must be <robot>, got <{self.root.tag}>.")
        self.name = self.root.get("name") or source.stem
        self.root.set("name", self.name)
        self._where = f"robot '{self.name}'"
        self._view = source.view
        check_tree(self._where, self.root)
        check_numbers(self._where, self.root)
        check_joints(self._where, self.root)

    # ---------------------------------------------------------------- reading
    def links(self) -> dict[str, Element]:
        """Return the links by name."""
        return links_of(self.root)

    def joints(self) -> dict[str, Element]:
        """Return the joints by name."""
        return joints_of(self.root)

    def movable(self) -> dict[str, Element]:
        """Return the movable joints by name."""
        return movable_joints_of(self.root)

    def base(self) -> str:
        """Return the root link."""
        return root_links_of(self.root)[0]

    def default_tip(self) -> str:
        """Return ``tool0``, or the end of the chain with the most movable joints without it."""
        if "tool0" in self.links():
            return "tool0"
        movable = self.movable()
        parents = {parent_of(joint) for joint in self.joints().values()}
        leaves = [link for link in self.links() if link not in parents]
        return max(leaves, key=lambda leaf: sum(j in movable for j in path_to(self.root, leaf)))

    def text(self, continuous_as_revolute: bool = False) -> str:
        """Return the URDF as XML text.

        With `continuous_as_revolute`, continuous joints become revolute joints with limits of
        -1e9 and 1e9 rad. Their configuration is then one angle instead of a point on the unit
        circle.
        """
        root = self.root
        if continuous_as_revolute:
            root = deepcopy(root)
            for joint in joints_of(root).values():
                if joint.get("type") == "continuous":
                    _make_revolute(joint)
        return ElementTree.tostring(root, encoding="unicode")

    # --------------------------------------------------------------- modification
    def cut(self, tip: str) -> None:
        """Remove all links except the chain from base to tip and links fixed to it.

        Links beyond the tip, and side branches attached by movable joints, are removed with their
        mass.

        Raises:
            ManipDynError: If there is no link `tip`.
        """
        if tip not in self.links():
            raise ManipDynError(
                f"{self._where} has no link '{tip}' for the tip{closest(tip, self.links())}"
            )
        on_path = set(path_to(self.root, tip))
        for name, joint in list(self.joints().items()):
            removed = name not in self.joints()
            beyond = parent_of(joint) == tip or joint.get("type") != "fixed"
            if not removed and name not in on_path and beyond:
                self._drop(name)

    def lock(self, values: Mapping[str, float]) -> None:
        """Replace joints with fixed joints at the positions `values`, rad or m, by name.

        Joints that mimic a locked joint are locked, too, at the corresponding position.

        Raises:
            ManipDynError: If a joint does not exist or cannot be locked.
        """
        joints, locked = self.joints(), dict(values)
        for name, value in values.items():
            if name not in joints:
                hint = closest(name, self.movable())
                raise ManipDynError(f"{self._where} has no joint '{name}' to lock{hint}")
            self._fix(joints[name], value)
        while self._lock_one_follower(locked):
            pass

    def mimics(self) -> dict[str, Mimic]:
        """Return the mimic joints by name, each relative to an independent joint.

        Raises:
            ManipDynError: See `mimics_of`.
        """
        return mimics_of(self._where, self.root)

    def fix_unsupported(self) -> list[str]:
        """Fix joints that `check_dynamics` and `mimics` reject, and return their names.

        These are joints of unsupported types, and joints that mimic a missing joint.
        """
        names = [n for n, j in self.joints().items() if j.get("type") not in (*MOVABLE, "fixed")]
        for name in names:
            self.joints()[name].set("type", "fixed")
        lost = lost_mimics_of(self.root)
        self.lock({name: resting_position(self.joints()[name]) for name in lost})
        return names + lost

    def check_dynamics(self) -> None:
        """Raise `ManipDynError` for unsupported dynamics; call this after `cut` and `lock`."""
        check_dynamics(self._where, self.root, self._view)

    # --------------------------------------------------------------- internal
    def _drop(self, name: str) -> None:
        """Remove a joint and everything behind it."""
        joint = self.joints()[name]
        link = child_of(joint)
        self.root.remove(joint)
        for below, child in list(self.joints().items()):
            if parent_of(child) == link:
                self._drop(below)
        self.root.remove(self.links()[link])

    def _fix(self, joint: Element, value: float) -> None:
        kind = joint.get("type", "")
        where = f"{self._where}: lock of joint '{joint.get('name')}'"
        if kind not in MOVABLE:
            raise ManipDynError(f"{where}: the joint must be movable, got a {kind} joint.")
        value = float(numbers(where, str(value), 1)[0])
        if not np.isfinite(value):
            raise ManipDynError(f"{where} must be finite, got {value}.")
        limit = joint.find("limit")
        if kind != "continuous" and limit is not None:
            lower, upper = float(limit.get("lower", 0.0)), float(limit.get("upper", 0.0))
            if not lower - 1e-9 <= value <= upper + 1e-9:
                raise ManipDynError(f"{where} must be from {lower:g} to {upper:g}, got {value:g}.")
        _move_origin(joint, kind, value)
        joint.set("type", "fixed")
        for child in list(joint):
            if child.tag not in ("parent", "child", "origin"):
                joint.remove(child)

    def _lock_one_follower(self, locked: dict[str, float]) -> bool:
        for name, joint in self.movable().items():
            mimic = joint.find("mimic")
            source = "" if mimic is None else mimic.get("joint", "")
            if mimic is not None and source in locked:
                scale, offset = float(mimic.get("multiplier", 1)), float(mimic.get("offset", 0))
                locked[name] = scale * locked[source] + offset
                self._fix(joint, locked[name])
                return True
        return False


def _make_revolute(joint: Element) -> None:
    joint.set("type", "revolute")
    limit = joint.find("limit")
    limit = ElementTree.SubElement(joint, "limit") if limit is None else limit
    for key, value in (("lower", "-1e9"), ("upper", "1e9")):
        limit.set(key, value)
    for key in ("effort", "velocity"):
        limit.set(key, limit.get(key, "0"))


def _move_origin(joint: Element, kind: str, value: float) -> None:
    """Move the <origin> of a joint to its pose at the position `value`."""
    origin, element = joint.find("origin"), joint.find("axis")
    origin = ElementTree.SubElement(joint, "origin") if origin is None else origin
    xyz = np.array([float(x) for x in origin.get("xyz", "0 0 0").split()])
    rotation = rpyToMatrix(np.array([float(x) for x in origin.get("rpy", "0 0 0").split()]))
    text = "1 0 0" if element is None else element.get("xyz", "1 0 0")
    axis = np.array([float(x) for x in text.split()])
    axis /= np.linalg.norm(axis)
    if kind == "prismatic":
        xyz = xyz + rotation @ (axis * value)
    else:
        rotation = rotation @ AngleAxis(value, axis).matrix()
    origin.set("xyz", " ".join(repr(float(x)) for x in xyz))
    origin.set("rpy", " ".join(repr(float(x)) for x in matrixToRpy(rotation)))
