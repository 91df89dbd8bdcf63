"""What the paper prints, and the rows of what is found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

PUBLISHED = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))


class ErrorRow(NamedTuple):
    """Errors of one run at one tolerance beside the published ones.

    ``at_s`` is t*, when the largest error was; ``rel_percent`` is RelErr, that error over the
    reference there.
    """

    table: str
    run: str
    tolerance: float
    published_max: float
    max_error: float
    published_at_s: float
    at_s: float
    published_rel_percent: float
    rel_percent: float
    published_mean: float
    mean_error: float
    steps: int
    status: str


class TimeRow(NamedTuple):
    """Computing time of the HMMWV up to a time; published on another machine of 2001."""

    table: str
    control: str
    duration_s: float
    tolerance: float
    published_s: float
    computed_s: float
    steps: int
    evaluations: int
    note: str


class GrowthRow(NamedTuple):
    """By what factor the cost of table 4 grows: published times, our evaluations and times."""

    growth: str
    control: str
    published_time: float
    evaluations: float
    time: float


class VariantRow(NamedTuple):
    """Evaluations of a variant over 4 s at each tolerance, and by what they grow."""

    variant: str
    at_1e_2: float
    at_1e_3: float
    at_1e_4: float
    at_1e_5: float
    growth: float
    last_decade: float


class LeadRow(NamedTuple):
    """How many times the explicit method takes as much as the implicit one, over 4 s."""

    control: str
    tolerance: float
    published_time: float
    steps: float
    evaluations: float
    time: float


class CarRow(NamedTuple):
    """A number of the HMMWV, published and computed."""

    name: str
    published: float
    computed: float


CLOSE = 0.01
"""A pendulum that comes as near as this, relative, would count as the paper's."""


class FitRow(NamedTuple):
    """A point of the published motion, ours, and that of the fitted pendulum."""

    quantity: str
    at_s: float
    published: float
    ours: float
    fitted: float
    residual: float
    status: str


class MatrixRow(NamedTuple):
    """Errors of a method with a Jacobian at a tolerance, NaN where it does not arrive."""

    method: str
    jacobian: str
    tolerance: float
    angle_error: float
    rate_error: float
    steps: int


class Point(NamedTuple):
    """A solver at a tolerance: error of the angles at the end, rad, seconds, evaluations."""

    solver: str
    tolerance: float
    error: float
    seconds: float
    evaluations: int
