"""The parameter of nodes that wait for a recorder."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.ros.parameters.rows import parameter


@dataclass(frozen=True)
class RecordedParameters:
    """Whether a recorder is to have the first message, too."""

    await_recorder: float = parameter(
        0.0,
        "Wall time for which the node waits, before anything moves, until a recorder of its "
        "namespace hears it; 0: it does not wait",
        "s",
        0.0,
        3600.0,
    )
