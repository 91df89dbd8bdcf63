"""The parameters of a node that lets time pass period by period."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.ros.parameters.rows import parameter

MODES = ("real_time", "fast", "lockstep")


@dataclass(frozen=True)
class SteppingParameters:
    """How time passes."""

    mode: str = parameter(
        "real_time",
        "How time advances: paced by the wall clock, as fast as possible, or one control period "
        "per command or ~/step",
        choices=MODES,
    )
    real_time_factor: float = parameter(
        1.0, "Simulated per wall time in real_time mode", "", 1e-3, 1e3, dynamic=True
    )
    control_period: float = parameter(
        1e-3,
        "Time between joint states, and what one command or ~/step advances in lockstep",
        "s",
        1e-6,
        10.0,
    )
    publish_clock: bool = parameter(False, "Publish simulated time on /clock and stamp with it")
