"""Collision checks in commands: the option --scene and the description of a collision model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from manip_dyn.cli.parser import DONE, FAILED, robot_of, with_nulls
from manip_dyn.cli.terminal import print_table

if TYPE_CHECKING:
    from manip_dyn.collision import Clearance, Scene
    from manip_dyn.robot import Robot

COLLISION = 3
"""Exit code of a motion that is not proved to be free of collisions."""


def add_scene(command: argparse.ArgumentParser) -> None:
    """Add the option --scene to a command that computes a motion."""
    command.add_argument(
        "--scene",
        metavar="FILE",
        help="YAML file with obstacles and attached parts. The motion is checked for collisions "
        f"with them and of the arm with itself; exit code {COLLISION} if it is not proved to be "
        "clear",
    )


def check_scene(
    options: argparse.Namespace, robot: Robot, motion: Any, content: dict[str, Any]
) -> Clearance | None:
    """Check a motion in the scene of the options, and add the result to the printed content.

    Without a scene the result is None.
    """
    scene = scene_of(options)
    if scene is None:
        return None
    from manip_dyn.collision import check_motion

    result = check_motion(robot, motion, scene)
    content["clearance"] = {
        "status": result.status,
        "reason": result.reason,
        "least_m": with_nulls(result.least),
        "distance_m": with_nulls(result.distance),
        "time_s": result.time,
        "pair": list(result.pair),
    }
    return result


def loaded_robot(options: argparse.Namespace) -> Robot:
    """Return the robot of the options, with the masses of the objects that its scene attaches."""
    robot, scene = robot_of(options), scene_of(options)
    return robot if scene is None else scene.loaded(robot)


def scene_of(options: argparse.Namespace) -> Scene | None:
    """Return the scene of the option --scene, or None without it. The file is read once."""
    if isinstance(options.scene, str):
        from manip_dyn.collision import load_scene

        options.scene = load_scene(options.scene)
    scene: Scene | None = options.scene
    return scene


def exit_code(success: bool, clearance: Clearance | None) -> int:
    """Return the exit code of a command that computes a motion."""
    if not success:
        return FAILED
    return DONE if clearance is None or clearance.success else COLLISION


def print_collision_model(robot: Robot) -> None:
    """Print the collision shapes of a robot, the checked pairs, and reasons for the others."""
    from manip_dyn.collision import Mesh, collision_model

    model = collision_model(robot)
    shapes = []
    for geometry in model.geometries:
        shape, excess = geometry.shape, ""
        kind = type(shape).__name__.lower()
        if isinstance(shape, Mesh):
            excess = f"{shape.excess():.3f}"
            if (count := len(shape.pieces())) > 1:
                kind += f", {count} hulls"
        shapes.append((geometry.owner, kind, excess))
    print_table(("link", "shape", "hull excess below [m]"), shapes, lambda: _lines(shapes))
    pairs = [(*pair, "checked") for pair in model.pairs]
    pairs += [(*pair, reason) for pair, reason in model.unchecked.items()]
    print_table(("link", "link", "collision check"), pairs, lambda: _lines(pairs))
    for note in model.notes:
        print(f"note: {note}")


def _lines(rows: list[tuple[str, str, str]]) -> str:
    return "".join(f"{first:<24} {second:<24} {third}\n" for first, second, third in rows)
