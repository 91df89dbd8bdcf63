"""What the study of sariyildiz2011 finds, as plain records."""

from __future__ import annotations

from dataclasses import dataclass

from manip_dyn.studies.panels import Chart, Table
from manip_dyn.studies.sariyildiz2011_claims import Claim


@dataclass(frozen=True)
class Findings:
    """What the study found; what was not asked for is empty.

    Attributes:
        setting: Commit, processor, versions.
        charts: Pictures.
        tables: Tables.
        claims: The claims.
    """

    setting: dict[str, str]
    charts: tuple[Chart, ...] = ()
    tables: tuple[Table, ...] = ()
    claims: tuple[Claim, ...] = ()
