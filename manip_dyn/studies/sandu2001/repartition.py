"""The rule of section 4: repartition when the condition number has grown by 25 %.

The paper states that 25 % was determined by numerical experiments, which it does not print. Here
the growth varies from 5 % to a factor of 100 for mechanisms whose coordinates rotate through many
partitions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from manip_dyn.multibody import Mechanism, MechanismSimulation, load_mechanism
from manip_dyn.studies.report.claims import TIME_ERROR, Claim, Evidence, with_alternatives
from manip_dyn.studies.sandu2001.findings import RepartitionRow
from manip_dyn.studies.sandu2001.pendulum import cartesian_pendulum
from manip_dyn.studies.sandu2001.squeezer import DURATION, squeezer

GROWTHS = (1.05, 1.1, 1.25, 1.5, 2.0, 4.0, 10.0, 100.0)
QUARTER, AS_CHEAP = 1.25, 1.1
"""Growth of the paper, and ratio up to which a cost counts as equal to the least one."""
TOLERANCE, REPEATS = 1e-6, 3


def mechanisms() -> dict[str, tuple[Mechanism, float]]:
    """Return mechanisms and durations (s) by name."""
    return {
        "pendulum": (cartesian_pendulum(), 2.0),
        "slider-crank": (load_mechanism("slider_crank"), 5.0),
        "four-bar": (load_mechanism("four_bar"), 5.0),
        "squeezer": (squeezer(), DURATION),
        "HMMWV": (load_mechanism("hmmwv"), 2.0),
    }


def rows(progress: Callable[[str], None]) -> Iterator[RepartitionRow]:
    """Yield the cost of each mechanism for each growth."""
    for name, (mechanism, duration) in mechanisms().items():
        progress(f"repartition, {name}")
        for growth in GROWTHS:
            seconds = []
            for _ in range(REPEATS):
                simulation = MechanismSimulation(
                    mechanism, method="rosenbrock_nystrom", rtol=TOLERANCE, growth=growth
                )
                began = time.process_time()
                simulation.advance_to(duration)
                seconds.append(time.process_time() - began)
            work = simulation.statistics
            counts = (simulation.partitions, work.steps, work.evaluations)
            yield RepartitionRow(name, growth, *counts, min(seconds))


def claims(rows: Sequence[RepartitionRow]) -> Iterator[Claim]:
    """Yield the claim that a growth of 25 % is the cheapest, in evaluations and in seconds."""
    words = "growth of 25 % / best growth between 5 % and a factor of 100; at most"
    yield Claim(
        "quarter",
        f"ratio of evaluations, {words} {AS_CHEAP:g}",
        tuple(_compared(rows, "evaluations", 1.0)),
    )
    timed = [
        Claim(
            "quarter",
            f"ratio of CPU times, {words} {AS_CHEAP:g}",
            tuple(_compared(rows, "seconds", off)),
        )
        for off in (1.0, 1.0 - TIME_ERROR, 1.0 + TIME_ERROR)
    ]
    yield with_alternatives(timed[0], timed[1:])


def _compared(rows: Sequence[RepartitionRow], cost: str, factor: float) -> Iterator[Evidence]:
    for name in dict.fromkeys(row.mechanism for row in rows):
        costs = {row.growth: getattr(row, cost) for row in rows if row.mechanism == name}
        ratio = costs[QUARTER] / min(costs.values())
        yield Evidence(name, ratio, ratio * factor <= AS_CHEAP)
