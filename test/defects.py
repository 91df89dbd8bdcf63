"""An arm with single defects: changes of its URDF, and the expected findings of the check."""

BASE = '<link name="base"/>'
END = "</robot>"
SHOULDER = '<limit lower="-2" upper="2.5" velocity="3" effort="50"/>'
UPPER = 'ixx="0.05" ixy="0" ixz="0" iyy="0.06" iyz="0" izz="0.02"'
POINT = 'ixx="0" ixy="0" ixz="0" iyy="0" iyz="0" izz="0"'
BALL = '<mass value="1"/> <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="{}"/>'
WEIGHTLESS = BALL.format(1).replace('value="1"', 'value="0"')
ELBOW = 'name="elbow" type="revolute"'


def fixed(name, parent, child):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="fixed">{ends}</joint>'


def with_mass(name, inertial):
    return f'<link name="{name}"><inertial>{inertial}</inertial></link>'


def with_shape(name, shape):
    return f'<link name="{name}"><visual><geometry><{shape}/></geometry></visual></link>'


CYCLE = '<link name="a"/><link name="b"/>' + fixed("ab", "a", "b") + fixed("ba", "b", "a")
DEFECTS = {
    "inertia beyond the triangle": (
        UPPER,
        UPPER.replace("0.05", "0.5"),
        "warning link upper inertia",
    ),
    "inertia below zero": ('ixx="0.05"', 'ixx="-0.05"', "error link upper inertia"),
    "products too large": ('ixy="0"', 'ixy="0.2"', "error link upper inertia"),
    "mass without inertia": (UPPER, POINT, "warning link upper inertia"),
    "inertia in kg cm^2": (UPPER, UPPER.replace("0.0", "50"), "warning link upper inertia"),
    "mass in grams": ('value="2"', 'value="2000"', "warning link lower inertia"),
    "inertia without mass": (
        '<link name="tool0"/>',
        with_mass("tool0", WEIGHTLESS),
        "warning link tool0 mass",
    ),
    "negative mass": ('value="4"', 'value="-4"', "error link upper mass"),
    "no inertial": ("<inertial>", "<ignored>", "error link upper mass"),
    "no mass": ('<mass value="4"/>', "", "error link upper inertial"),
    "centre of mass in mm": (
        'xyz="0 0 0.2"',
        'xyz="0 0 200"',
        "warning link upper centre of mass",
    ),
    "no limit": (SHOULDER, "", "error joint shoulder limit"),
    "effort limit 0": ('effort="50"', 'effort="0"', "warning joint shoulder effort limit"),
    "velocity limit 0": ('velocity="3"', 'velocity="0"', "warning joint shoulder velocity limit"),
    "effort limit below 0": ('effort="50"', 'effort="-5"', "error joint shoulder effort limit"),
    "no velocity limit": ('velocity="3"', "", "error joint shoulder velocity limit"),
    "lower above upper": ('lower="-2"', 'lower="2.6"', "error joint shoulder position limits"),
    "no range": ('lower="-2" upper="2.5"', "", "warning joint shoulder position limits"),
    "limits in degrees": (
        'lower="-2" upper="2.5"',
        'lower="-115" upper="143"',
        "warning joint shoulder position limits",
    ),
    "axis not of length 1": (
        'axis xyz="0 1 0"',
        'axis xyz="0 1 1"',
        "warning joint shoulder axis",
    ),
    "axis zero": ('axis xyz="0 1 0"', 'axis xyz="0 0 0"', "error joint shoulder axis"),
    "no axis": ('<axis xyz="0 1 0"/>', "", "note joint shoulder axis"),
    "origin in mm": ('xyz="0 0 0.4"', 'xyz="0 0 400"', "warning joint elbow origin"),
    "damping below zero": ('damping="0.5"', 'damping="-0.5"', "error joint shoulder damping"),
    "friction": ('damping="0.5"', 'friction="0.5"', "note joint shoulder friction"),
    "mimic": ("<dynamics", '<mimic joint="elbow"/><dynamics', "note joint shoulder mimic"),
    "effort of 1e9": ('effort="50"', 'effort="1e9"', "warning joint shoulder effort limit"),
    "mimic of a missing joint": (
        "<dynamics",
        '<mimic joint="elbo"/><dynamics',
        "error joint shoulder mimic",
    ),
    "mimic that is fixed": (
        'name="flange" type="fixed">',
        'name="flange" type="fixed"><mimic joint="elbow"/>',
        "note joint flange mimic",
    ),
    "floating": (ELBOW, 'name="elbow" type="floating"', "error joint elbow type"),
    "planar": (ELBOW, 'name="elbow" type="planar"', "error joint elbow type"),
    "unknown type": (ELBOW, 'name="elbow" type="hinge"', "error joint elbow type"),
    "root with mass": (BASE, with_mass("base", BALL.format(1)), "note link base root mass"),
    "root with an impossible inertia": (
        BASE,
        with_mass("base", BALL.format(9)),
        "note link base inertia",
    ),
    "missing mesh": (
        BASE,
        with_shape("base", 'mesh filename="package://a/b.stl"'),
        "note link base mesh",
    ),
    "shape without mass": (
        '<link name="tool0"/>',
        with_shape("tool0", 'box size="1 1 1"'),
        "note link tool0 inertial",
    ),
    "link twice": (END, '<link name="upper"/>' + END, "error link upper name"),
    "joint twice": (
        END,
        '<link name="more"/>' + fixed("elbow", "tool0", "more") + END,
        "error joint elbow name",
    ),
    "two roots": (END, '<link name="stray"/>' + END, "error robot arm root links"),
    "two parents": (END, fixed("weld", "base", "lower") + END, "error link lower parent joints"),
    "cycle": (END, CYCLE + END, "error robot arm tree"),
    "unknown parent": (
        '<parent link="base"/>',
        '<parent link="bas"/>',
        "error joint shoulder parent",
    ),
    "invalid number": ('value="4"', 'value="heavy"', "error link upper mass value"),
    "origin too short": ('xyz="0 0 0.3"', 'xyz="0 0.3"', "error joint shoulder origin xyz"),
    "misspelt element": ("<dynamics", "<dynamic", "warning joint shoulder element"),
    "misspelt attribute": ('damping="0.5"', 'dampning="0.5"', "warning joint shoulder attribute"),
    "no izz": (' izz="0.02"', "", "error link upper inertia"),
    "a link too light": ('value="2"', 'value="2e-9"', "warning joint elbow mass matrix"),
}
"""Defect -> text, its replacement, and level, element, name and topic of the finding."""
TOO_LIGHT = ('ixx="0.03" ixy="0" ixz="0" iyy="0.03"', 'ixx="3e-11" ixy="0" ixz="0" iyy="3e-11"')
WITH = {
    "a link too light": [TOO_LIGHT, ('izz="0.01"', 'izz="1e-11"')],
    "no inertial": [("</inertial>", "</ignored>")],
}
"""Further changes without which there would be other defects."""
CONSEQUENCES = {
    "no izz": {"warning link upper inertia"},
    "centre of mass in mm": {"warning joint elbow mass matrix"},
    "origin in mm": {"warning joint elbow mass matrix"},
    "link twice": {"error link upper mass"},  # the second link has no mass
    "joint twice": {"error robot arm root links"},  # the first joint is lost
}
