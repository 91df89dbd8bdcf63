"""Definitions of the demo scenarios, and checks of launch arguments."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.core.files import read_yaml, share_directory


class Run(NamedTuple):
    """One run of a scenario.

    Attributes:
        label: Key of the run in the summary.
        title: Printed description.
        overrides: Tuples (node, parameter, value) that override the parameter file.
        bounds: Upper bounds of a successful run, by summary key.
        timeout: Wall time (s) after which the run fails.
        headline: Whether `manip_dyn demo` performs the run by default.
    """

    label: str
    title: str
    overrides: tuple[tuple[str, str, str], ...]
    bounds: dict[str, float]
    timeout: float = 600.0
    headline: bool = False


class Scenario(NamedTuple):
    """A scenario: the nodes and runs that use the parameter file ``config/<name>.yaml``.

    Attributes:
        name: Name of the scenario.
        nodes: Names of the nodes.
        runs: Runs of the scenario.
        any_robot: Whether the scenario and its bounds apply to any robot.
        monitor: Name of the node that measures the run.
        view: Name of the RViz file in ``config/``, without ``.rviz``.
    """

    name: str
    nodes: tuple[str, ...]
    runs: tuple[Run, ...]
    any_robot: bool = False
    monitor: str = "monitor"
    view: str = "pa10_circle"

    @property
    def params_file(self) -> Path:
        """Path of the ROS 2 parameter file, which the launch file also uses."""
        return share_directory() / "config" / f"{self.name}.yaml"

    def with_robot(self, urdf: str | None = None, tip: str | None = None) -> Scenario:
        """Return the scenario with a different robot for its nodes and the monitor.

        Args:
            urdf: Path of a URDF. Default: robot of the scenario.
            tip: Tool link. Default: tool link of the scenario.

        Raises:
            ManipDynError: If an argument is passed and the scenario has a fixed robot.
        """
        robot = tuple((key, value) for key, value in (("robot", urdf), ("tip", tip)) if value)
        if not robot:
            return self
        if not self.any_robot:
            raise ManipDynError(
                f"scenario '{self.name}' has a fixed robot. A URDF requires {ANY_ROBOT}."
            )
        overrides = tuple((node, *pair) for node in ("monitor", *self.nodes) for pair in robot)
        runs = tuple(run._replace(overrides=run.overrides + overrides) for run in self.runs)
        return self._replace(runs=runs)


ANY_ROBOT = "panda_lissajous"

LOCKSTEP = (
    ("simulator", "mode", "lockstep"),
    ("bang_bang_planner", "transport_delay", "0.0"),
    ("bang_bang_planner", "hold_duration", "0.25"),
    ("bang_bang_planner", "autostart", "false"),
)
TRACKED_IN_LOCKSTEP = {
    "steady_position_error_m": 1e-6,
    "steady_orientation_error_rad": 1e-5,
    "missed_samples": 0,
}
RUBBED_IN_LOCKSTEP = {
    "steady_position_error_m": 1e-4,
    "steady_orientation_error_rad": 1e-4,
    "missed_samples": 0,
}
"""Bounds in lockstep with dry friction. They are wider, because friction changes its sign within a
control period if a joint reverses."""
ARRIVES = {"final_position_error": 1e-3, "final_velocity": 1e-2}


def _motion(name: str, title: str, headline: bool = False) -> Scenario:
    """Return a scenario with planner and simulator.

    Its runs are: without errors in lockstep and in real time, disturbed, and with wrong masses.
    If `headline` is set, the lockstep run without errors is a headline run.
    """
    runs = (
        Run(
            "lockstep",
            f"{title}, in lockstep",
            LOCKSTEP,
            {"final_position_error": 1e-6, "final_velocity": 1e-5, "missed_samples": 0},
            headline=headline,
        ),
        Run(
            "real_time",
            f"{title}, in real time, simulator at 1 kHz",
            (("bang_bang_planner", "autostart", "false"),),
            ARRIVES,
        ),
        Run(
            "disturbed",
            f"{title}, pushed for 0.1 s during the motion, in lockstep",
            (*LOCKSTEP, ("simulator", "disturbance_duration", "0.1")),
            ARRIVES,
        ),
        Run(
            "wrong_masses",
            f"{title}, arm 10 % heavier than the planner's model, in lockstep",
            (*LOCKSTEP, ("simulator", "mass_scale", "1.1")),
            ARRIVES,
        ),
    )
    return Scenario(name, ("simulator", "bang_bang_planner"), runs, view="bang_bang")


SCENARIOS = (
    Scenario(
        "pa10_circle",
        ("clik_tracker",),
        (
            Run(
                "kinematic",
                "PA-10: the tool follows a circle by closed-loop inverse kinematics, "
                "RK4 with steps of 100 ms, 10 x real time",
                (("clik_tracker", "real_time_factor", "10.0"),),
                {
                    "steady_position_error_m": 1e-6,
                    "steady_orientation_error_rad": 1e-5,
                    "missed_samples": 0,
                },
                headline=True,
            ),
            Run(
                "1kHz",
                "PA-10: the first seconds of the circle in real time at 1 kHz",
                (
                    ("clik_tracker", "step", "0.001"),
                    ("monitor", "duration", "4.0"),
                    ("monitor", "settle", "1.0"),
                ),
                {"steady_position_error_m": 1e-6, "steady_orientation_error_rad": 1e-5},
            ),
        ),
    ),
    Scenario(
        "pa10_singularity",
        ("clik_tracker",),
        (
            Run(
                "kinematic",
                "PA-10: damped motion through a singularity (stretched arm), exact afterwards, "
                "4 x real time",
                (("clik_tracker", "real_time_factor", "4.0"),),
                {
                    "max_position_error_m": 5e-3,
                    "final_position_error_m": 1e-6,
                    "max_fraction_of_speed_limits": 1.0,
                    "smallest_singular_value": 0.04,
                    "missed_samples": 0,
                },
            ),
        ),
    ),
    Scenario(
        "pa10_dynamic_circle",
        ("simulator", "clik_tracker"),
        (
            Run(
                "lockstep",
                "PA-10: computed torque drives the simulated arm along a circle, in lockstep",
                (("simulator", "mode", "lockstep"),),
                {
                    "steady_position_error_m": 1e-6,
                    "steady_orientation_error_rad": 1e-5,
                    "missed_samples": 0,
                },
            ),
            Run(
                "real_time",
                "PA-10: the same in real time, simulator and tracker at 1 kHz",
                (("clik_tracker", "publish_every", "10"),),
                {"steady_position_error_m": 1e-3, "steady_orientation_error_rad": 1e-2},
            ),
        ),
    ),
    Scenario(
        "panda_lissajous",
        ("clik_tracker",),
        (
            Run(
                "kinematic",
                "Panda, or any URDF: the tool follows a Lissajous figure, 4 x real time",
                (("clik_tracker", "real_time_factor", "4.0"),),
                {
                    "steady_position_error_m": 1e-6,
                    "steady_orientation_error_rad": 1e-5,
                    "max_fraction_of_speed_limits": 1.0,
                    "missed_samples": 0,
                },
            ),
        ),
        any_robot=True,
        view="panda_lissajous",
    ),
    Scenario(
        "ur5_torque",
        ("simulator", "clik_tracker"),
        (
            Run(
                "lockstep",
                "UR5 with internal gravity compensation: efforts without gravity at 500 Hz, "
                "in lockstep",
                (("simulator", "mode", "lockstep"),),
                RUBBED_IN_LOCKSTEP,
            ),
            Run(
                "lockstep_1kHz",
                "UR5 with internal gravity compensation: the same at 1 kHz",
                (
                    ("simulator", "mode", "lockstep"),
                    ("simulator", "control_period", "0.001"),
                    ("clik_tracker", "step", "0.001"),
                ),
                RUBBED_IN_LOCKSTEP,
            ),
            Run(
                "real_time",
                "UR5 with internal gravity compensation: in real time, simulator and tracker at "
                "500 Hz",
                (("clik_tracker", "publish_every", "5"),),
                {"steady_position_error_m": 1e-3, "steady_orientation_error_rad": 1e-2},
            ),
            Run(
                "unknown_friction",
                "UR5 with Coulomb friction that is not in the tracker's model, in lockstep",
                (
                    ("simulator", "mode", "lockstep"),
                    ("clik_tracker", "coulomb_friction", "[0.0, 0.0, 0.0, 0.0, 0.0, 0.0]"),
                ),
                {"steady_position_error_m": 0.05, "missed_samples": 0},
            ),
            Run(
                "wrong_masses",
                "UR5 that is 5 % heavier than the models of controller and tracker, in lockstep",
                (("simulator", "mode", "lockstep"), ("simulator", "mass_scale", "1.05")),
                {"steady_position_error_m": 5e-3, "missed_samples": 0},
            ),
        ),
        view="panda_lissajous",
    ),
    _motion("ibm7535_zero_net_work", "IBM 7535: zero-net-work bang-bang motion", headline=True),
    _motion("ibm7535_minimum_time", "IBM 7535: certified minimum time", headline=True),
    _motion(
        "cylindrical_zero_net_work",
        "cylindrical arm: zero-net-work bang-bang motion",
    ),
    _motion(
        "pa10_bang_bang",
        "PA-10: seven joints under gravity at their effort limits",
    ),
    Scenario(
        "stiff_pendulum",
        ("simulator",),
        (
            Run(
                "real_time",
                "stiff double pendulum: 2 s with the Rosenbrock-Nystrom method in real time",
                (),
                {"final_position_error": 1e-7, "missed_samples": 0},
            ),
        ),
        view="stiff_pendulum",
    ),
    Scenario(
        "hmmwv",
        ("mechanism",),
        (
            Run(
                "fast",
                "HMMWV (14 bodies, closed loops, stiff): 4 s over a bump with the "
                "Rosenbrock-Nystrom method",
                (("mechanism", "mode", "fast"),),
                {
                    "final_height_error_m": 5e-3,
                    "late_change_of_height_m": 1e-3,
                    "max_violation": 1e-10,
                    "missed_samples": 0,
                },
                timeout=900.0,
            ),
        ),
        monitor="mechanism_monitor",
        view="hmmwv",
    ),
)


def scenario(name: str) -> Scenario:
    """Return a scenario by name, or raise `ManipDynError`."""
    names = [item.name for item in SCENARIOS]
    if name not in names:
        raise ManipDynError(
            f"scenario must be a shipped scenario, got '{name}'{closest(name, names)}"
        )
    return SCENARIOS[names.index(name)]


OF_ROBOTS = ("urdf", "tip", "xacro_arguments", "scene", "srdf")
OF_SIMULATORS = ("mass_scale", "disturbance_duration")


def check_arguments(
    scenario: Scenario,
    values: Mapping[str, str],
    argv: Sequence[str],
    command: Sequence[str],
    files: Collection[str],
) -> None:
    """Check that launch arguments exist, have an effect in the scenario, and do not conflict.

    Args:
        scenario: The scenario.
        values: Values of all declared launch arguments.
        argv: Words after the launch file on the command line, as ``NAME:=VALUE``.
        command: The whole command line. If it contains none of `files`, a launch file of another
            package includes one of this package, and `argv` is not checked.
        files: Names of the launch files of this package.

    Raises:
        ManipDynError: If an argument is not declared, conflicts with the launch file or has no
            effect, or if there is no parameter file.
    """
    for name, value in check_known(values, argv, command, files).items():
        if values[name] != value:
            raise ManipDynError(
                f"launch argument '{name}' must be '{values[name]}' in this launch file, "
                f"got '{value}'. Use scenario.launch.py."
            )
    for names, node in ((OF_ROBOTS, "arm"), (OF_SIMULATORS, "simulator")):
        has = node in scenario.nodes or (node == "arm" and "mechanism" not in scenario.nodes)
        useless = next((name for name in names if values[name]), None)
        if useless and not has:
            raise ManipDynError(
                f"launch argument '{useless}' must be omitted for scenario '{scenario.name}', "
                f"which has no {node}, got '{values[useless]}'."
            )
    if not Path(values["params_file"]).is_file():
        raise ManipDynError(
            f"params_file must be an existing file, got '{values['params_file']}'."
        )


def check_known(
    names: Collection[str], argv: Sequence[str], command: Sequence[str], files: Collection[str]
) -> dict[str, str]:
    """Return the launch arguments in `argv` by name, or {} if `command` has none of `files`.

    Args:
        names: Declared launch arguments.
        argv: As for `check_arguments`.
        command: As for `check_arguments`.
        files: As for `check_arguments`.

    Raises:
        ManipDynError: If an argument is not declared.
    """
    if not any(Path(word).name in files for word in command):
        return {}
    arguments = dict(word.split(":=", 1) for word in argv if ":=" in word)
    for name in arguments:
        if name not in names:
            raise ManipDynError(
                f"launch argument must be declared, got '{name}'{closest(name, names)}"
            )
    return arguments


def description_of(values: Mapping[str, str]) -> tuple[str, str]:
    """Return the URDF (as a string) and the base link of the robot in a launch.

    Args:
        values: Launch arguments. Empty values are read from the parameter file, except ``tip`` if
            ``urdf`` is not empty.
    """
    # Imported here because listing the scenarios must not load pinocchio.
    from manip_dyn.robot import load_robot, lock_from, xacro_arguments_from

    settings = read_yaml(Path(values["params_file"]), _first_robot)
    source = values["urdf"] or settings.get("robot", "pa10")
    tip = values["tip"] or ("" if values["urdf"] else settings.get("tip", ""))
    lock = lock_from(settings.get("lock", ""))
    arguments = values["xacro_arguments"] or settings.get("xacro_arguments", "")
    robot = load_robot(source, lock, tip or None, xacro_args=xacro_arguments_from(arguments))
    return robot.urdf, robot.base


def check_installed(argument: str, *packages: str) -> None:
    """Check that ROS packages are installed.

    Args:
        argument: Launch argument that requires them, for the error message.
        *packages: Names of packages that only a ROS installation provides.

    Raises:
        ManipDynError: If a package is missing.
    """
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    for package in packages:
        if not any(Path(prefix, "share", package).is_dir() for prefix in prefixes if prefix):
            raise ManipDynError(
                f"{argument} requires package '{package}', which is not installed: "
                f"apt install ros-jazzy-{package.replace('_', '-')}."
            )


def _first_robot(content: Any) -> dict[str, Any]:
    """Return the parameters of the first node that has a parameter `robot`, or {}."""
    nodes = [node.get("ros__parameters", {}) for node in content.values()]
    return next((node for node in nodes if "robot" in node), {})
