"""`export_c`: a robot's kernels as a folder of C99."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from manip_dyn.codegen.rigid_body.catalogue import Function
from manip_dyn.codegen.rigid_body.equations import Equations
from manip_dyn.core.errors import ManipDynError
from manip_dyn.export.c99.cases import cases_of, series_cases
from manip_dyn.export.c99.files import cmake_text, header_text, package_text, write_files
from manip_dyn.export.c99.selftest import selftest_text
from manip_dyn.export.c99.source.kernels import Style, argument_sizes, definition, prototype
from manip_dyn.export.c99.source.names import prefix_for
from manip_dyn.export.c99.source.precision import DOUBLE, SINGLE, sines_preamble, sines_text
from manip_dyn.export.c99.source.series import (
    Series,
    series_of,
    taylor_definition,
    taylor_prototype,
)
from manip_dyn.export.selection import TAYLOR, USUAL, selected, traced
from manip_dyn.robot import Robot
from manip_dyn.robot.model import checked_robot

PRECISIONS = {"double": DOUBLE, "float": SINGLE}
MEANINGS = {
    "forward_dynamics": "Accelerations under the efforts tau.",
    "inverse_dynamics": "Efforts that give the accelerations a.",
    "mass_matrix": "Joint-space inertia matrix, rotor inertias included.",
    "gravity": "Efforts that hold the arm at rest, springs included.",
    "forward_kinematics": "Pose of {frame} in the base frame, homogeneous.",
    "jacobian": "Jacobian of {frame}: linear, then angular velocity, base axes.",
    "jacobian_rate": "Time derivative of the Jacobian of {frame}.",
    "jacobian_derivatives": "Derivatives of the Jacobian of {frame} by the positions, last axis.",
    "kinematics": "Position, rotation and Jacobian of {frame}, one after the other.",
    "energy": "Kinetic and potential energy in J.",
    "forward_dynamics_derivatives": "Derivatives of the accelerations by q, v and tau.",
    "inverse_dynamics_derivatives": "Derivatives of the efforts by q, v and a.",
    "forward_dynamics_adjoint": "Gradients of adjoint . accelerations by q, v and tau.",
}
TAYLOR_COMMENT = """\
/* Taylor coefficients (order + 1, {n}) of the motion q(t). tau (rows, {n}) is a polynomial of the
 * efforts, a row for each power, rows >= 1. work has as many rows of {P}_TAYLOR_WIDTH as `order`,
 * at least one. */
"""


def export_c(
    robot: Robot,
    directory: str | Path,
    kernels: Iterable[str] = USUAL,
    *,
    precision: str = "double",
    name: str | None = None,
    frame: str | None = None,
    ros: bool = False,
) -> list[Path]:
    """Write kernels of a robot as C99 without dependencies; return the files.

    Header, source, CMakeLists.txt and a self-test: a program with reference values, that ends
    with 0 if all kernels agree with them to the rounding of their type. The equations are those
    of `customize`, without the dry friction of joints; nothing is allocated, arrays do not
    overlap. Files of an export of the same name are replaced.

    Args:
        robot: From `load_robot`.
        directory: Where the files go; made if it is not there.
        kernels: Names of kernels, see `Kernels`, or ``gravity`` or ``taylor``. Those that are
            computed in loops for so many joints are refused.
        precision: ``double`` or ``float``.
        name: What files and functions are called; default: the robot's name, with an f behind it
            in single precision; so much of it that functions differ in the characters that C99
            tells names apart by.
        frame: The link whose pose and Jacobian are meant; default: the tool, `robot.tip`.
        ros: With a package.xml, for colcon.

    Raises:
        ManipDynError: For an unknown kernel, link, precision or name, or a folder that cannot be
            written or has other files of these names; nothing is written then.
    """
    checked_robot(robot)
    if not isinstance(directory, (str, Path)) or not str(directory):
        raise ManipDynError(f"directory is {directory!r}; expected a folder")
    if precision not in tuple(PRECISIONS):
        raise ManipDynError(f"precision is {precision!r}; expected double or float")
    chosen = selected(robot, kernels)
    link = robot.tip if frame is None else frame
    equations = Equations(robot, robot.frame(link))
    prefix = prefix_for(robot.name, name, precision == "float", chosen)
    style = Style(prefix, PRECISIONS[precision])
    functions = traced(equations, chosen)
    series = series_of(equations) if TAYLOR in chosen else None
    about = f"Equations of motion of {_plain(robot.name)}, {robot.n} joints, in {precision}."
    texts = {
        f"{style.prefix}.h": _header(style, robot, link, about, functions, series),
        f"{style.prefix}.c": _source(style, functions, series),
        f"{style.prefix}_selftest.c": _selftest(style, robot, functions, series),
        "CMakeLists.txt": cmake_text(style.prefix, ros),
    }
    if ros:
        texts["package.xml"] = package_text(style.prefix, about)
    return write_files(Path(directory), style.prefix, texts)


def _header(
    style: Style,
    robot: Robot,
    link: str,
    about: str,
    functions: list[Function],
    series: Series | None,
) -> str:
    if robot.rubs:
        about += "\n * The dry friction of its joints is left to the caller."
    prototypes = [
        (_comment(each, robot.n, _plain(link)), prototype(style, each)) for each in functions
    ]
    if series:
        width = f"#define {style.prefix.upper()}_TAYLOR_WIDTH {series.factors.width}"
        comment = TAYLOR_COMMENT.format(n=robot.n, P=style.prefix.upper())
        prototypes += [("/* Numbers in a row of the workspace of the series. */", width)]
        prototypes += [(comment.rstrip(), taylor_prototype(style))]
    names = [_plain(each) for each in robot.joint_names]
    return header_text(style.prefix, about, names, prototypes)


def _comment(function: Function, n: int, link: str) -> str:
    """Return what stands above a prototype: meaning, and the shapes of all arrays."""
    meaning = MEANINGS.get(function.name, function.name.replace("_", " ").capitalize() + ".")
    sizes = [f"{name} ({size})" for name, size in argument_sizes(function, n)]
    shape = ", ".join(map(str, function.shape))
    return f"/* {meaning.format(frame=link)}\n * {', '.join(sizes)}; out ({shape}). */"


def _source(style: Style, functions: list[Function], series: Series | None) -> str:
    sources = [definition(style, each) for each in functions]
    if series:
        sources.append(taylor_definition(style, series))
    counts = sorted({count for each in sources for count in each.counts})
    parts = [f'#include "{style.prefix}.h"\n']
    parts += [sines_preamble(style.prefix)] if counts else []
    parts += [sines_text(style.precision, style.prefix, count) for count in counts]
    return "\n".join([*parts, *(each.text for each in sources)])


def _selftest(style: Style, robot: Robot, functions: list[Function], series: Series | None) -> str:
    cases = [cases_of(robot, each, style.precision) for each in functions]
    if series:
        cases.append(series_cases(robot, series, style.precision))
    return selftest_text(style, cases)


def _plain(text: str) -> str:
    """Return a name from a URDF as it may stand in a comment."""
    return "".join(c if c.isprintable() and c not in "*/\\<>&?" else "_" for c in text)
