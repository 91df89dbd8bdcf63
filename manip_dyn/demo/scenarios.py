"""The scenarios: which nodes run with which parameters file, and what counts as success."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from manip_dyn.errors import ManipDynError, closest
from manip_dyn.share import share_directory


class Run(NamedTuple):
    """One run of a scenario.

    Attributes:
        label: Key in the summary.
        title: What it shows.
        overrides: (node, parameter, value) set beside the parameters file.
        bounds: Largest value that a good run has, by key of its summary.
        timeout: Wall time after which the run has failed, s.
    """

    label: str
    title: str
    overrides: tuple[tuple[str, str, str], ...]
    bounds: dict[str, float]
    timeout: float = 60.0


class Scenario(NamedTuple):
    """A scenario: its nodes and runs. Its parameters file is ``config/<name>.yaml``.

    Attributes:
        name: Its name.
        nodes: Which nodes it starts.
        runs: What it shows.
        monitor: Which node measures it.
    """

    name: str
    nodes: tuple[str, ...]
    runs: tuple[Run, ...]
    monitor: str = "monitor"

    @property
    def params_file(self) -> Path:
        """The standard ROS 2 parameters file that launch uses too."""
        return share_directory() / "config" / f"{self.name}.yaml"


SCENARIOS = (
    Scenario(
        "pa10_circle",
        ("clik_tracker",),
        (
            Run(
                "kinematic",
                "PA-10: the tool follows a circle by closed-loop inverse kinematics, "
                "RK4 at 100 ms, 10 x real time",
                (("clik_tracker", "real_time_factor", "10.0"),),
                {
                    "steady_position_error_m": 1e-6,
                    "steady_orientation_error_rad": 1e-5,
                    "missed_samples": 0,
                },
            ),
        ),
    ),
    Scenario(
        "ibm7535_zero_net_work",
        ("simulator", "bang_bang_planner"),
        (
            Run(
                "lockstep",
                "IBM 7535: zero-net-work bang-bang motion, planner and simulator in lockstep",
                (
                    ("simulator", "mode", "lockstep"),
                    ("bang_bang_planner", "transport_delay", "0.0"),
                    ("bang_bang_planner", "hold_duration", "0.25"),
                    ("bang_bang_planner", "autostart", "false"),
                ),
                {"final_position_error": 1e-6, "final_velocity": 1e-5, "missed_samples": 0},
            ),
            Run(
                "real_time",
                "IBM 7535: the same motion in real time, simulator at 1 kHz",
                (("bang_bang_planner", "autostart", "false"),),
                {"final_position_error": 1e-3, "final_velocity": 1e-2},
            ),
        ),
    ),
    Scenario(
        "stiff_pendulum",
        ("simulator",),
        (
            Run(
                "real_time",
                "stiff double pendulum: 2 s by the Rosenbrock-Nystrom method in real time",
                (),
                {"final_position_error": 1e-7, "missed_samples": 0},
            ),
        ),
    ),
    Scenario(
        "hmmwv",
        ("mechanism",),
        (
            Run(
                "fast",
                "HMMWV, 14 bodies with closed loops, stiff: 4 s over a bump by the "
                "Rosenbrock-Nystrom method",
                (("mechanism", "mode", "fast"),),
                {
                    "final_height_error_m": 5e-3,
                    "late_change_of_height_m": 1e-3,
                    "max_violation": 1e-10,
                    "missed_samples": 0,
                },
                timeout=300.0,
            ),
        ),
        monitor="mechanism_monitor",
    ),
)


def scenario(name: str) -> Scenario:
    """Return the scenario called `name`."""
    names = [each.name for each in SCENARIOS]
    if name not in names:
        raise ManipDynError(f"scenario '{name}' is unknown{closest(name, names)}")
    return SCENARIOS[names.index(name)]
