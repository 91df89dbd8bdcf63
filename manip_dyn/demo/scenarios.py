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
    timeout: float = 120.0


class Scenario(NamedTuple):
    """A scenario: its nodes and runs. Its parameters file is ``config/<name>.yaml``."""

    name: str
    nodes: tuple[str, ...]
    runs: tuple[Run, ...]

    @property
    def params_file(self) -> Path:
        """The standard ROS 2 parameters file that launch uses too."""
        return share_directory() / "config" / f"{self.name}.yaml"


LOCKSTEP = (
    ("simulator", "mode", "lockstep"),
    ("bang_bang_planner", "transport_delay", "0.0"),
    ("bang_bang_planner", "hold_duration", "0.25"),
    ("bang_bang_planner", "autostart", "false"),
)
ARRIVES = {"final_position_error": 1e-3, "final_velocity": 1e-2}


def _motion(name: str, what: str) -> Scenario:
    """Return a scenario of planner and simulator: as planned, disturbed, with wrong masses."""
    runs = (
        Run(
            "lockstep",
            f"{what}, planner and simulator in lockstep",
            LOCKSTEP,
            {"final_position_error": 1e-6, "final_velocity": 1e-5, "missed_samples": 0},
        ),
        Run(
            "real_time",
            f"{what}, in real time, simulator at 1 kHz",
            (("bang_bang_planner", "autostart", "false"),),
            ARRIVES,
        ),
        Run(
            "disturbed",
            f"{what}, pushed on the way for 0.1 s, in lockstep",
            (*LOCKSTEP, ("simulator", "disturbance_duration", "0.1")),
            ARRIVES,
        ),
        Run(
            "wrong_masses",
            f"{what}, 10 % heavier than the planner thinks, in lockstep",
            (*LOCKSTEP, ("simulator", "mass_scale", "1.1")),
            ARRIVES,
        ),
    )
    return Scenario(name, ("simulator", "bang_bang_planner"), runs)


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
    _motion("ibm7535_zero_net_work", "IBM 7535: zero-net-work bang-bang motion"),
    _motion("ibm7535_minimum_time", "IBM 7535: certified minimum time"),
    _motion("cylindrical_zero_net_work", "cylindrical arm: zero-net-work bang-bang motion"),
    _motion("pa10_bang_bang", "PA-10: seven joints against gravity at their limits"),
)


def scenario(name: str) -> Scenario:
    """Return the scenario called `name`."""
    names = [each.name for each in SCENARIOS]
    if name not in names:
        raise ManipDynError(f"scenario '{name}' is unknown{closest(name, names)}")
    return SCENARIOS[names.index(name)]
