"""What a mechanism did, measured from the poses of its bodies alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.multibody import Mechanism
from manip_dyn.ros.monitors.samples import missed

SETTLING = 0.5
"""How long before the end a body should have come to rest, s."""


@dataclass
class MechanismLog:
    """A motion from the simulated time zero on.

    Attributes:
        mechanism: What moves.
        body: Whose height counts.
        height: Where its centre of mass should be at the end, m.
        duration: When that is, simulated s.
    """

    mechanism: Mechanism
    body: str
    height: float
    duration: float
    _rows: dict[int, Vector] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Find the body."""
        names = [each.name for each in self.mechanism.bodies]
        if self.body not in names:
            raise ManipDynError(f"body '{self.body}' is unknown{closest(self.body, names)}")
        self._place = 7 * names.index(self.body) + 2

    def add(self, stamp_ns: int, q: Vector) -> None:
        """Add coordinates (N,) up to the duration; the stamp zero begins anew."""
        if len(q) != self.mechanism.size:
            raise ManipDynError(
                f"{len(q)} coordinates came; expected the {self.mechanism.size} of the mechanism"
            )
        if stamp_ns == 0:
            self._rows.clear()
        if stamp_ns <= round(self.duration * 1e9):
            self._rows[stamp_ns] = q

    @property
    def fraction(self) -> float:
        """How much of the motion was heard, if its start was."""
        return max(self._rows) * 1e-9 / self.duration if 0 in self._rows else 0.0

    def summary(self) -> dict[str, float | str]:
        """Return heights, m, and the largest violation of a constraint."""
        stamps = np.array(sorted(self._rows))
        t, rows = stamps * 1e-9, np.array([self._rows[stamp] for stamp in stamps])
        z = rows[:, self._place]
        late = z[t >= t[-1] - SETTLING]
        violations = [np.abs(self.mechanism.violations(row)).max() for row in rows]
        digest = hashlib.sha256(stamps.tobytes() + rows.tobytes()).hexdigest()
        return {
            "samples": len(t),
            "missed_samples": missed(t),
            "duration_s": float(t[-1]),
            "highest_m": float(z.max()),
            "final_height_m": float(z[-1]),
            "final_height_error_m": float(abs(z[-1] - self.height)),
            "late_change_of_height_m": float(np.ptp(late)),
            "max_violation": float(max(violations)),
            "log_sha256": digest,
        }
