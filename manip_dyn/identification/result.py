"""What an identification found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import Matrix, Vector, finite_array
from manip_dyn.core.errors import ManipDynError, closest
from manip_dyn.identification.base import BaseParameters, observation
from manip_dyn.identification.regressor import spring_efforts
from manip_dyn.robot import Robot


@dataclass(frozen=True, eq=False, repr=False)
class Identification:
    """Base parameters of an arm from a log, with their standard deviations.

    Attributes:
        robot: The robot as it was described.
        names: Of the parameter that leads each combination, (b,); `formula` has the others.
        values: Estimates (b,): kg, kg m, kg m^2, and damping, friction and armature of joints.
        deviations: Standard deviations (b,); infinite for what the log does not tell.
        described: What URDF and YAML say, (b,).
        covariance: Of the estimates, (b, b).
        noise: Standard deviation of the measured efforts by joint, (n,), N m or N, as low-passed.
        residual: Root mean square of what the model does not explain by joint, (n,).
        condition: Of the weighted regressor with columns of length one; below 100 is good.
        unseen: Base parameters that this log does not tell one by one: at most sums of them.
        invisible: Parameters that no effort of this arm depends on.
    """

    robot: Robot
    base: BaseParameters
    values: Vector
    deviations: Vector
    described: Vector
    covariance: Matrix
    noise: Vector
    residual: Vector
    condition: float
    unseen: tuple[str, ...]

    def __repr__(self) -> str:
        """Return of which arm it is, and how well the log tells its parameters."""
        untold = f", {len(self.unseen)} unseen" if self.unseen else ""
        return (
            f"Identification({len(self.names)} base parameters of '{self.robot.name}'{untold}: "
            f"condition {self.condition:.3g})"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters that lead each combination."""
        return self.base.names

    @property
    def invisible(self) -> tuple[str, ...]:
        """Parameters that no effort of this arm depends on."""
        return self.base.invisible

    def formula(self, name: str) -> str:
        """Return what a base parameter is the sum of, such as ``elbow mx +0.4 wrist m``."""
        if name not in self.names:
            hint = closest(str(name), self.names)
            raise ManipDynError(f"there is no base parameter {name!r}{hint}")
        return self.base.formula(self.names.index(name))

    def inverse_dynamics(self, q: ArrayLike, v: ArrayLike, a: ArrayLike) -> Matrix:
        """Return the efforts (m, n) of motions (m, n) with the estimates, friction included."""
        first = self._rows("q", q)
        states = [first, self._rows("v", v, len(first)), self._rows("a", a, len(first))]
        efforts = observation(self.robot, self.base, *states) @ self.values
        return efforts + spring_efforts(self.robot, states[0])

    def _rows(self, name: str, value: ArrayLike, count: int | None = None) -> Matrix:
        """Return (n,) or (m, n) as (m, n); m is what it is, or the count."""
        given: Any = value
        try:
            rows = [given] if np.ndim(given) == 1 else given
            size = (len(rows) if count is None else count, self.robot.n)
        except (TypeError, ValueError) as error:
            raise ManipDynError(f"{name} is {value!r}; expected numbers (m, n)") from error
        return finite_array(name, rows, size)

    def content(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        rows = zip(self.names, self.values, self.deviations, self.described, strict=True)
        return {
            "robot": self.robot.name,
            "condition": self.condition if np.isfinite(self.condition) else None,
            "unseen": list(self.unseen),
            "residual": dict(zip(self.robot.joint_names, self.residual.tolist(), strict=True)),
            "parameters": [
                {
                    "name": name,
                    "value": float(value),
                    "deviation": float(deviation) if np.isfinite(deviation) else None,
                    "described": float(described),
                    "formula": self.formula(name),
                }
                for name, value, deviation, described in rows
            ],
        }
