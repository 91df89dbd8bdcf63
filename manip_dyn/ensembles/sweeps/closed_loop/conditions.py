"""Deviations of an arm, its measurements and its commands from the assumptions of a plan."""

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
    """Deviations of the model, the measurements and the timing of commands.

    Attributes:
        mass_scale: Factor for the masses and inertias of all bodies, excluding rotors.
        payload: Mass at the tool in addition to the planned one, kg; negative for a lighter
            payload.
        disturbance: Efforts in addition to the commands, N m or N: a number for all joints, or
            (n,).
        disturbance_start: Start time of the disturbance after the first measurement, s.
        disturbance_duration: Duration of the disturbance, s.
        delay: Time from a measurement to the effect of its command, s.
        assumed_delay: Delay assumed by the executor, s. Default: the actual delay.
        position_noise: Standard deviation of the measured positions, rad or m.
        velocity_noise: Standard deviation of the measured velocities, rad/s or m/s.
        seed: Seed of the noise.
        control_period: Time between measurements, s.
        step: Longest integration step, s.
        duration: Simulated time, s; 0 for one second more than the plan and the delay.
        tolerance: Largest final distance from the goal, rad or m.
        friction: Dry friction of the joints, N m or N: a number for all joints, or (n,).
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
    friction: ArrayLike = 0.0

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
        for name in ("friction", "disturbance"):
            value = getattr(self, name)
            try:
                shape = np.shape(value)
            except ValueError as error:  # rows of different lengths
                raise ManipDynError(f"{name} must be numbers, got {value}.") from error
            finite_array(name, value, shape)
        if np.min(self.friction) < 0.0:
            raise ManipDynError(f"friction must be 0 or more, got {self.friction}.")
