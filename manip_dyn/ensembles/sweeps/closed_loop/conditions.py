"""In which ways an arm and what is heard of it may differ from what a plan takes them for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from manip_dyn.core.checks import (
    finite,
    finite_array,
    nanoseconds,
    not_negative,
    positive,
    whole_number,
)
from manip_dyn.core.errors import ManipDynError


@dataclass(frozen=True)
class Conditions:
    """What is wrong with the model, the measurements and the time of commands.

    Attributes:
        mass_scale: Factor of the masses and inertias of all bodies of the arm; rotors stay.
        payload: Mass at the tool beside what the plan knows, kg; less than nothing for a lighter
            one.
        disturbance: Efforts that act beside the commands, N m or N: one for all joints, or (n,).
        disturbance_start: From when on, s after the first measurement.
        disturbance_duration: For how long, s.
        delay: From a measurement until the command that answers it acts, s.
        assumed_delay: What the executor takes for the delay, s; None: the right one.
        position_noise: Standard deviation of measured positions, rad or m.
        velocity_noise: The same of velocities, rad/s or m/s.
        seed: Of the noise.
        control_period: Between measurements, s.
        step: The longest step of the integration, s.
        duration: For how long the arm is watched, s; 0: for a second beyond the plan's end.
        tolerance: How near to the goal the arm has to be at last, rad or m.
    """

    mass_scale: float = 1.0
    payload: float = 0.0
    disturbance: ArrayLike = 0.0
    disturbance_start: float = 0.0
    disturbance_duration: float = 0.0
    delay: float = 0.0
    assumed_delay: float | None = None
    position_noise: float = 0.0
    velocity_noise: float = 0.0
    seed: int = 0
    control_period: float = 1e-3
    step: float = 1e-3
    duration: float = 0.0
    tolerance: float = 1e-3

    def __post_init__(self) -> None:
        """Check the numbers."""
        positive("mass_scale", self.mass_scale)
        for name in ("disturbance_start", "disturbance_duration", "delay", "duration"):
            not_negative(name, getattr(self, name), "s")
        for name in ("position_noise", "velocity_noise"):
            not_negative(name, getattr(self, name))
        if self.assumed_delay is not None:
            not_negative("assumed_delay", self.assumed_delay, "s")
        nanoseconds("control_period", self.control_period)
        nanoseconds("step", self.step)
        positive("tolerance", self.tolerance)
        whole_number("seed", self.seed, 0)
        finite("payload", self.payload, "kg")
        try:
            shape = np.shape(self.disturbance)
        except ValueError as error:  # rows of several lengths
            raise ManipDynError(f"disturbance is {self.disturbance}; expected numbers") from error
        finite_array("disturbance", self.disturbance, shape)
