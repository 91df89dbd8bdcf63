"""Figures: curves of error against computing time, and how to read between their points."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from manip_dyn.core.checks import Vector


class Point(NamedTuple):
    """One run.

    Attributes:
        setting: Number of fixed steps, or absolute tolerance.
        seconds: CPU time of the run, s.
        error: Largest error over the recorded steps; NaN if the run failed.
        steps: Steps that passed.
        failures: Steps that failed and were tried again.
        evaluations: Evaluations of the right-hand side, or series.
        status: How the run ended, a name of `Status`.
    """

    setting: float
    seconds: float
    error: float
    steps: int
    failures: int
    evaluations: int
    status: str

    @property
    def tries(self) -> int:
        """All steps that were computed, failed ones included."""
        return self.steps + self.failures


class Curve(NamedTuple):
    """The runs of one method.

    Attributes:
        method: Its name.
        label: Its name as the paper writes it.
        order: Its order.
        points: Its runs, from coarse to fine.
        dashed: Whether a chart dashes it, to tell a variant from its original.
    """

    method: str
    label: str
    order: int
    points: tuple[Point, ...]
    dashed: bool = False

    def between(self, least: float, most: float) -> Curve:
        """Return the curve with the successful runs whose error is in [least, most] only."""
        kept = (each for each in self.points if each.status == "SUCCESS")
        return self._replace(points=tuple(each for each in kept if least <= each.error <= most))

    def error_at_time(self, seconds: float) -> float:
        """Return the error that this method has after a computing time, NaN outside its runs."""
        return _between(self._column("seconds"), self._column("error"), seconds)

    def error_at_tries(self, tries: float) -> float:
        """Return the error that this method has with a number of steps, NaN outside its runs."""
        return _between(self._column("tries"), self._column("error"), tries)

    def error_at_evaluations(self, evaluations: float) -> float:
        """Return the error that this method has with so many evaluations, NaN outside its runs."""
        return _between(self._column("evaluations"), self._column("error"), evaluations)

    def time_at_error(self, error: float) -> float:
        """Return the computing time, s, after which the runs first reach an error, or NaN."""
        return self._first("seconds", error)

    def tries_at_error(self, error: float) -> float:
        """Return the steps, failed ones too, with which an error is first reached, or NaN."""
        return self._first("tries", error)

    def evaluations_at_error(self, error: float) -> float:
        """Return the evaluations with which an error is first reached, or NaN."""
        return self._first("evaluations", error)

    def measured_order(self) -> float:
        """Return minus the slope of error over steps, log-log, of the three finest runs."""
        if len(self.points) < 3:
            return np.nan
        x, y = self._column("steps")[-3:], self._column("error")[-3:]
        return float(-np.polyfit(np.log(x), np.log(y), 1)[0])

    def roughness(self) -> float:
        """Return how far error over steps is from a straight line, log-log: rms in decades."""
        if len(self.points) < 3:
            return np.nan
        x, y = np.log10(self._column("steps")), np.log10(self._column("error"))
        return float(np.sqrt(np.mean((y - np.polyval(np.polyfit(x, y, 1), x)) ** 2)))

    def _first(self, name: str, error: float) -> float:
        """Return what the runs cost when they first reach an error, between runs, or NaN."""
        for coarse, fine in pairwise(self.points):
            if coarse.error >= error >= fine.error:
                errors = np.array([fine.error, coarse.error])
                costs = np.array([getattr(each, name) for each in (fine, coarse)], dtype=float)
                return _between(errors, costs, error)
        return np.nan

    def _column(self, name: str) -> Vector:
        return np.array([getattr(each, name) for each in self.points], dtype=np.float64)


class Figure(NamedTuple):
    """A chart: what it shows and its curves.

    Attributes:
        name: ``"fig2"`` .. ``"fig7"`` or ``"energy"``.
        robot: The robot's name.
        title: The family of methods.
        quantity: What the error is, with its unit.
        floor: Errors below, in that unit, are mostly rounding.
        curves: One per method.
    """

    name: str
    robot: str
    title: str
    quantity: str
    floor: float
    curves: tuple[Curve, ...]


def _between(x: Vector, y: Vector, wanted: float) -> float:
    """Return y at x = wanted, linear in the logarithms, NaN outside."""
    if x.size == 0:
        return np.nan
    order = np.argsort(x)
    found = np.interp(
        np.log(wanted), np.log(x[order]), np.log(y[order]), left=np.nan, right=np.nan
    )
    return float(np.exp(found))
