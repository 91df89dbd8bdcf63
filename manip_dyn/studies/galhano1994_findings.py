"""What the study of galhano1994 finds, as plain records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from manip_dyn.studies.galhano1994_claims import Claim
from manip_dyn.studies.galhano1994_figures import Figure


class StageRow(NamedTuple):
    """A row of Table 1: stages of a method, published and computed."""

    method: str
    published: int
    computed: int
    difference: int
    status: str


class Reference(NamedTuple):
    """How well a reference motion is known: its difference, rad, from an independent run."""

    robot: str
    steps: int
    cross_check: float


@dataclass(frozen=True)
class Findings:
    """What the study found; what was not asked for is empty.

    Attributes:
        setting: Commit, processor, versions.
        table1: Table 1.
        references: One per robot whose errors were measured.
        figures: Charts.
        claims: The claims, per robot.
    """

    setting: dict[str, str]
    table1: tuple[StageRow, ...] = ()
    references: tuple[Reference, ...] = ()
    figures: tuple[Figure, ...] = ()
    claims: tuple[Claim, ...] = ()
