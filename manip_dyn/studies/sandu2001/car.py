"""Tables 3 and 4 and figure 5 of Sandu et al. (2001): computing times for the HMMWV.

The explicit method is a variable-order Adams method, as in the paper. Its cost is measured while
the front wheels cross the bump. Stability limits the steps at every tolerance, so this cost is
scaled to longer motions. The paper's method is run with its own step control (eq. 13 to 16) and
with the step control of this package.

`variant_rows` investigates why the times of table 4 grow by a factor of 32 from 1e-2 to 1e-5,
whereas the recomputed times grow less. If errors of a step h are of order h^(q+1), the number of
evaluations grows with the tolerance to the power -1/(q + 1): by 10^(3/4) for the embedded order 3
of the formula. The printed 32 is 10^(3/2), which corresponds to errors of order 1. A Rosenbrock
formula with an inexact Jacobian has such errors. The variants change step control, norm, method
and dampers one at a time, or use one of three inexact Jacobians.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from manip_dyn.core.checks import Vector
from manip_dyn.integration import Jacobian, StepControl
from manip_dyn.multibody.equations.state_space import linearized_rates
from manip_dyn.multibody.first_order import simulate_by_adams
from manip_dyn.multibody.model.elements import Joint, MovingBody, Spring
from manip_dyn.multibody.model.hmmwv import hmmwv
from manip_dyn.multibody.model.linearization import linearize
from manip_dyn.multibody.model.mechanism import Mechanism
from manip_dyn.multibody.simulation import MechanismMotion, MechanismSimulation, simulate_mechanism
from manip_dyn.studies.report.charts import Chart, Line, Panel
from manip_dyn.studies.sandu2001.findings import (
    PUBLISHED,
    CarRow,
    GrowthRow,
    LeadRow,
    TimeRow,
    VariantRow,
)
from manip_dyn.studies.sandu2001.settings import Settings

TOLERANCES = tuple(PUBLISHED["tolerances"])
DURATIONS = (1, 2, 3, 4)
METHOD = "rosenbrock_nystrom"
"""The paper's method."""


def controls(settings: Settings) -> dict[str, StepControl]:
    """Return the step controls by name."""
    return {"paper": settings.control(), "ours": StepControl()}


def explicit_rows(
    tolerances: tuple[float, ...], settings: Settings, progress: Callable[[str], None]
) -> Iterator[TimeRow]:
    """Yield the rows of table 3: costs measured on the bump and costs scaled to longer motions."""
    car, short = hmmwv(hit=0.0), settings.explicit_duration
    simulate_by_adams(car, 1e-5, rtol=1e-3)
    for tolerance in tolerances:
        progress(f"table 3, {tolerance:g}")
        began = time.process_time()
        motion = simulate_by_adams(car, short, rtol=tolerance)
        seconds = time.process_time() - began
        step = f"{short / motion.statistics.steps:.2g} s per step"
        cost = (seconds, motion.statistics.steps, motion.statistics.evaluations)
        yield TimeRow(
            "table3", "Adams", short, tolerance, float("nan"), *cost, f"as measured, {step}"
        )
        for duration in DURATIONS:
            times = duration / short
            yield TimeRow(
                "table3",
                "Adams",
                duration,
                tolerance,
                PUBLISHED["explicit"][str(duration)][TOLERANCES.index(tolerance)],
                seconds * times,
                round(motion.statistics.steps * times),
                round(motion.statistics.evaluations * times),
                f"{short:g} s on the bump, scaled",
            )


def implicit_rows(
    tolerances: tuple[float, ...], settings: Settings, progress: Callable[[str], None]
) -> Iterator[TimeRow]:
    """Yield the rows of table 4 for each step control."""
    car = hmmwv()
    for name, control in controls(settings).items():
        simulate_mechanism(car, 1e-3, rtol=1e-3, control=control, method=METHOD)
        for tolerance in tolerances:
            progress(f"table 4, control {name}, {tolerance:g}")
            for duration in DURATIONS:
                began = time.process_time()
                motion = simulate_mechanism(
                    car, float(duration), rtol=tolerance, control=control, method=METHOD
                )
                yield TimeRow(
                    "table4",
                    name,
                    duration,
                    tolerance,
                    PUBLISHED["implicit"][str(duration)][TOLERANCES.index(tolerance)],
                    time.process_time() - began,
                    motion.statistics.steps,
                    motion.statistics.evaluations,
                    "" if motion.success else f"ended early: {motion.reason}",
                )


def growth_rows(times: tuple[TimeRow, ...]) -> Iterator[GrowthRow]:
    """Yield the growth of the costs in table 4, in times and in evaluations."""
    rows = {
        (row.control, row.tolerance, row.duration_s): row for row in times if row.table == "table4"
    }
    for (control, tolerance, duration), row in rows.items():
        if duration == DURATIONS[-1]:
            half = rows[control, tolerance, DURATIONS[1]]
            yield _growth(f"from 2 to 4 s at {tolerance:g}", control, half, row)
            if tolerance != TOLERANCES[0] and (control, TOLERANCES[0], duration) in rows:
                loose = rows[control, TOLERANCES[0], duration]
                name = f"from {TOLERANCES[0]:g} to {tolerance:g} over {duration} s"
                yield _growth(name, control, loose, row)


def _growth(name: str, control: str, first: TimeRow, last: TimeRow) -> GrowthRow:
    return GrowthRow(
        name,
        control,
        last.published_s / first.published_s,
        last.evaluations / first.evaluations,
        last.computed_s / first.computed_s,
    )


def leads(times: tuple[TimeRow, ...]) -> Iterator[LeadRow]:
    """Yield the cost ratios of the explicit to the implicit method for a motion of 4 s."""
    rows = {(row.control, row.tolerance): row for row in times if row.duration_s == DURATIONS[-1]}
    for (control, tolerance), row in rows.items():
        if row.table == "table4" and ("Adams", tolerance) in rows:
            explicit = rows["Adams", tolerance]
            yield LeadRow(
                control,
                tolerance,
                explicit.published_s / row.published_s,
                explicit.steps / row.steps,
                explicit.evaluations / row.evaluations,
                explicit.computed_s / row.computed_s,
            )


def motions(settings: Settings) -> dict[str, MechanismMotion]:
    """Return the motion of figure 5 for each step control."""
    car = hmmwv()
    return {
        name: simulate_mechanism(car, 5.0, rtol=1e-3, control=control, method=METHOD)
        for name, control in controls(settings).items()
    }


def facts(results: dict[str, MechanismMotion]) -> Iterator[CarRow]:
    """Yield quantities of the car and of its motions, with the values that the paper prints."""
    car = hmmwv()
    fastest = float(linearize(car).eigenvalues[0].real)
    yield CarRow("degrees of freedom", 18.0, float(car.freedoms))
    yield CarRow("dominant eigenvalue [1/s]", PUBLISHED["dominant_eigenvalue"], fastest)
    yield CarRow("chassis height at rest [m]", PUBLISHED["settled_height"], float(car.q0[2]))
    nothing = float("nan")
    for name, motion in results.items():
        height, end = motion.q[:, 2], f"control {name}"
        yield CarRow(
            f"chassis height after 5 s [m], {end}", PUBLISHED["settled_height"], float(height[-1])
        )
        late = height[motion.t > 3.5]
        yield CarRow(
            f"motion of the chassis after 3.5 s, peak to peak [m], {end}",
            nothing,
            float(np.ptp(late)),
        )
        for first, last in ((0.0, 0.5), (0.5, 1.6), (1.6, 3.0), (3.0, 5.0)):
            step = _median_step(motion.t, first, last)
            yield CarRow(f"median step from {first:g} to {last:g} s [s], {end}", nothing, step)
        yield CarRow(f"largest violation of a constraint, {end}", 0.0, motion.violation)
    yield from _modes(car)


def _modes(car: Mechanism) -> Iterator[CarRow]:
    """Yield decay and frequency of the least damped vibration, also without shock absorbers."""
    for name, mechanism in (("", car), (" without shock absorbers", hmmwv(damped=False))):
        eigenvalues = linearize(mechanism).eigenvalues
        vibrations = eigenvalues[np.abs(eigenvalues.imag) > 1.0]
        slowest = vibrations[np.argmax(vibrations.real)]
        yield CarRow(f"least decay of a vibration [1/s]{name}", float("nan"), float(slowest.real))
        frequency = float(abs(slowest.imag)) / (2.0 * np.pi)
        yield CarRow(f"frequency of this vibration [Hz]{name}", float("nan"), frequency)


def _median_step(t: Vector, first: float, last: float) -> float:
    inside = (t[1:] > first) & (t[1:] <= last)
    return float(np.median(np.diff(t)[inside])) if inside.any() else float("nan")


def chart(results: dict[str, MechanismMotion]) -> Chart:
    """Return the chart of figure 5."""
    panels = (
        Panel(
            "chassis height",
            "time [s]",
            "height [m]",
            tuple(
                _line(f"control {name}", k, motion.t, motion.q[:, 2])
                for k, (name, motion) in enumerate(results.items())
            ),
        ),
        Panel(
            "step at 1e-3",
            "time [s]",
            "step [s]",
            tuple(
                _line(f"control {name}", k, motion.t[1:], np.diff(motion.t))
                for k, (name, motion) in enumerate(results.items())
            ),
            log_y=True,
        ),
    )
    return Chart("sandu2001_fig5", "Figure 5: the HMMWV over a bump", panels, 1, (8.0, 6.6))


def _line(label: str, color: int, t: Vector, values: Vector) -> Line:
    return Line(label, tuple(t.tolist()), tuple(values.tolist()), color)


VARIANT_DURATION = 4.0
VARIANT_TOLERANCES = tuple(PUBLISHED["tolerances"])


# ------------------------------------------------------------------------- growth of table 4
def without_time(t, y, p, out, by_time):
    """Write a Jacobian without the derivatives with respect to time, which are due to the bump.

    `integrate` compiles this function.
    """
    linearized_rates(t, y, p, out, by_time)
    for i in range(by_time.shape[0]):
        by_time[i] = 0.0


def too_small(t, y, p, out, by_time):
    """Write a Jacobian that is 10 % too small."""
    linearized_rates(t, y, p, out, by_time)
    n = by_time.shape[0]
    for i in range(n):
        for k in range(2 * n):
            out[i, k] *= 0.9


def without_positions(t, y, p, out, by_time):
    """Write a Jacobian without the derivatives with respect to positions."""
    linearized_rates(t, y, p, out, by_time)
    n = by_time.shape[0]
    for i in range(n):
        for k in range(n):
            out[i, k] = 0.0


UNSWITCHED = "without switch times at the bump"
WITHOUT_TIME = "Jacobian without the time derivative"
INEXACT = {
    WITHOUT_TIME: without_time,
    "Jacobian 10 % too small": too_small,
    "Jacobian without the position derivatives": without_positions,
}


def variant_rows(settings: Settings, progress: Callable[[str], None]) -> Iterator[VariantRow]:
    """Yield the published times, then the evaluations over 4 s for each variant.

    A variant changes the method, the step control, the car or the Jacobian.
    """
    control, car = settings.control(), hmmwv()
    ours = {"control": StepControl(inspection=control.inspection)}
    variants: dict[str, dict[str, Any]] = {
        "as table 4": {},
        "our control": ours,
        "maximum norm of the error": {"control": replace(control, norm="max")},
        "scaled estimate": {"control": settings.control("scaled")},
        "facmax 2": {"control": replace(control, facmax=2.0)},
        "rodas5p": {"method": "rodas5p"},
        "W-method": {"method": "rosenbrock_w"},
    }
    for name, jacobian in INEXACT.items():
        variants[name] = {"jacobian": Jacobian(jacobian, car.freedoms, mass=True)}
    without = {"jacobian": Jacobian(without_time, car.freedoms, mass=True)}
    unsettled = _without_switches(hmmwv(settled=False))
    others: dict[str, tuple[Mechanism, dict[str, Any]]] = {
        "without shock absorbers": (hmmwv(damped=False), {}),
        "not at rest at the start": (hmmwv(settled=False), {}),
        UNSWITCHED: (_without_switches(hmmwv()), {}),
        f"not at rest at the start, {UNSWITCHED}": (unsettled, {}),
        f"not at rest at the start, {UNSWITCHED}, {WITHOUT_TIME}": (unsettled, without),
        f"not at rest at the start, {UNSWITCHED}, our control": (unsettled, ours),
        "another mechanism: a link on a stiff bushing": (link_on_a_bushing(), {}),
    }
    published = [PUBLISHED["implicit"]["4"][k] for k in range(len(VARIANT_TOLERANCES))]
    first = _variant_row("published, s", published)
    rows = []
    for name, (mechanism, options) in (
        {k: (car, v) for k, v in variants.items()} | others
    ).items():
        progress(f"growth, {name}")
        costs = [
            _cost(mechanism, tolerance, {"control": control} | options)
            for tolerance in VARIANT_TOLERANCES
        ]
        rows.append(_variant_row(name, costs))
    yield first
    yield from sorted(rows, key=lambda row: abs(math.log(row.growth / first.growth)))


def _without_switches(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism after removing the times at which its forces are not smooth."""
    mechanism.switches = []
    return mechanism


def link_on_a_bushing(stiffness: float = 1e6, damping: float = 1e3) -> Mechanism:
    """Return a pendulum whose pivot is a stiff bushing: two springs in the plane of its motion.

    Args:
        stiffness: Stiffness of the bushing, N/m.
        damping: Damping of the bushing, N s/m.
    """
    z, foot = (0.0, 0.0, 1.0), np.zeros(3)
    bodies = [
        MovingBody("rail", 0.5, (0.01, 0.01, 0.01), foot),
        MovingBody("block", 0.5, (0.01, 0.01, 0.01), foot),
        MovingBody("link", 2.0, (0.02, 0.2, 0.2), (0.5, 0.0, 0.0)),
    ]
    joints = [
        Joint("translational", ("ground", "rail"), foot, (1.0, 0.0, 0.0)),
        Joint("translational", ("rail", "block"), foot, (0.0, 1.0, 0.0)),
        Joint("revolute", ("block", "link"), foot, z),
    ]
    far = 10.0
    forces = [
        Spring(("ground", "block"), [np.array(end), foot], stiffness, damping)
        for end in ((far, 0.0, 0.0), (0.0, far, 0.0))
    ]
    return Mechanism(bodies, joints, forces, (0.0, -9.81, 0.0))


def _cost(car: Mechanism, tolerance: float, options: dict[str, Any]) -> int:
    simulation = MechanismSimulation(car, rtol=tolerance, **({"method": METHOD} | options))
    simulation.advance_to(VARIANT_DURATION)
    return simulation.statistics.evaluations


def _variant_row(name: str, costs: Sequence[float]) -> VariantRow:
    first, second, third, last = costs
    return VariantRow(name, first, second, third, last, last / first, last / third)
