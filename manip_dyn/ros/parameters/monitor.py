"""The parameters of the monitors, which `manip_dyn demo` starts."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.ros.parameters.robot import RobotParameters
from manip_dyn.ros.parameters.rows import Numbers, parameter


@dataclass(frozen=True)
class MonitorParameters(RobotParameters):
    """What the monitor of an arm measures."""

    measure: str = parameter(
        "motion", "What to measure", choices=("tracking", "free", "motion", "soak")
    )
    goal: Numbers = parameter((), "Where the motion should end, in joint order", "rad or m")
    settle: float = parameter(5.0, "Path time after which errors count as steady", "s", 0.0, 1e6)
    duration: float = parameter(0.0, "Time to measure; 0: the path, one lap of it", "s", 0.0, 1e6)
    period: float = parameter(1e-3, "Time between joint states, for a soak", "s", 1e-6, 10.0)
    patience: float = parameter(
        6.0, "Time beyond that for an arm that does not rest", "s", 0.0, 1e3
    )
    rest: float = parameter(
        0.2, "Time for which the arm must have settled at the end", "s", 0.0, 1e3
    )


@dataclass(frozen=True)
class MechanismMonitorParameters:
    """What the monitor of a mechanism measures."""

    mechanism: str = parameter("four_bar", "Name of a shipped mechanism or path of a YAML file")
    body: str = parameter("", "Whose height is measured")
    height: float = parameter(0.0, "Where its centre of mass should be at the end", "m", -1e6, 1e6)
    duration: float = parameter(1.0, "Simulated time of the motion", "s", 1e-3, 1e6)
