"""The parameters of recorder and replayer, which `manip_dyn record` and `replay` set."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.ros.parameters.rows import parameter


@dataclass(frozen=True)
class RecorderParameters:
    """What is recorded, and where."""

    file: str = parameter("", "Path of the new MCAP file")
    leave_out: str = parameter(
        "clik_tracker/actual_path, mechanism/markers",
        "Topics of the namespace that are not recorded, comma separated",
    )
    duration: float = parameter(
        0.0, "Wall time after which the recorder ends; 0: it is stopped", "s", 0.0, 1e9
    )


@dataclass(frozen=True)
class ReplayerParameters:
    """What is published again, and how fast."""

    file: str = parameter("", "Path of the MCAP file")
    rate: float = parameter(1.0, "Recorded time per wall time", "", 1e-3, 1e3)
    wait: float = parameter(
        1.0, "Wall time before the first message, in which listeners find the topics", "s", 0.0, 60
    )
