"""Claims of a paper with their evidence, and the verdicts on them.

A claim is judged by the fraction of its cases that support it; all papers share one rule:

confirmed           at least 95 % of the cases support the claim
partly confirmed    at least half of them
refuted             fewer
not measured        there is no case
not reproducible    no computation can decide it; ``published.json`` has the reason
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, NamedTuple

from manip_dyn.studies.report.tables import WIDTH, Table, number

TIMES = "\u00d7"
KINDS = {
    "good": (
        *("confirmed", "reproduced", "as published", "has its order", "not above", "arrived"),
        *("arrives", "fits the figure"),
    ),
    "part": (
        *("partly confirmed", "close", "corrected", "steeper", "flatter"),
        *("arrives, not at the printed time", "arrives, at the printed time for some digits"),
        "fits the figure without the load only",
    ),
    "bad": ("refuted", "differs", "above", "does not arrive", "missing"),
    "open": ("not reproducible", "not measured", "not published", "no number to compare"),
}
"""Kinds of statuses, and the words of each."""
SECONDS, AT_THE_LIMIT = "seconds", "steps at the limit of stability"
"""What a claim counts that another machine does not repeat: times, and steps that the limit of
stability rules, which move by percents with the last bits of another BLAS."""
KIND_OF = {words: kind for kind, told in KINDS.items() for words in told}


def counted(statuses: Sequence[str]) -> str:
    """Return statuses with how often each is there; one alone as it is."""
    counts = Counter(statuses)
    if len(counts) == 1:
        return statuses[0]
    return ", ".join(f"{count} {TIMES} {each}" for each, count in counts.items())


def parts(status: str) -> list[str]:
    """Return the single statuses of one that `counted` and others joined."""
    return [part for each in status.split("; ") for part in re.split(rf", (?=\d+ {TIMES} )", each)]


def kind_of(part: str) -> str:
    """Return of which of `KINDS` a single status is; empty where it is none, "drawn" for one."""
    words = re.sub(rf"^\d+ {TIMES} ", "", part)
    if " (" in words and words.split(" (")[0] in KIND_OF:
        return "part"  # another verdict with other times
    return KIND_OF.get(words, "")


NEARLY_ALL, HALF = 0.95, 0.5
TIME_ERROR = 0.1
"""Share by which a load on the machine may shift one median time against another."""
UNDECIDED = "not reproducible"
LISTED = 8
"""Cases that are named in text; JSON and CSV have all of them."""


class Evidence(NamedTuple):
    """One case: which, the number that the claim is about, whether it bears the claim out.

    Attributes:
        who: What is compared.
        number: A factor, a share, an error.
        holds: Whether it bears the claim out.
        error: The error at which curves are compared, which have many cases of one name; None
            where a name has one case.
    """

    who: str
    number: float
    holds: bool
    error: float | None = None


@dataclass(frozen=True)
class Claim:
    """A claim of a paper in one reading, with its evidence.

    Attributes:
        key: Its key in the paper's ``published.json``.
        measure: What the number is, and when a case bears the claim out.
        evidence: All cases.
        about: The robot that it was measured on, where there are several.
        counted: In what costs are counted, if on another machine they differ: `SECONDS` or
            `AT_THE_LIMIT` of `status`.
        others: Further verdicts that the same runs would give with all times `OFF` off.
    """

    key: str
    measure: str
    evidence: tuple[Evidence, ...]
    about: str = ""
    counted: str = ""
    others: tuple[str, ...] = ()

    @property
    def number(self) -> float:
        """Median of the cases' numbers; NaN without cases, as the next three."""
        return median(each.number for each in self.evidence) if self.evidence else math.nan

    @property
    def least(self) -> float:
        """Least number."""
        return min((each.number for each in self.evidence), default=math.nan)

    @property
    def most(self) -> float:
        """Largest number."""
        return max((each.number for each in self.evidence), default=math.nan)

    @property
    def share(self) -> float:
        """The share of the cases that bear the claim out."""
        return sum(e.holds for e in self.evidence) / self.cases if self.evidence else math.nan

    @property
    def cases(self) -> int:
        """How many cases there are."""
        return len(self.evidence)

    @property
    def status(self) -> str:
        """The verdict."""
        if not self.evidence:
            return "not measured"
        if self.share >= NEARLY_ALL:
            return "confirmed"
        return "partly confirmed" if self.share >= HALF else "refuted"

    @property
    def verdict(self) -> str:
        """The status, and whether a load on the machine may flip it."""
        if not self.others:
            return self.status
        return f"{self.status} ({' or '.join(self.others)} with times {TIME_ERROR:.0%} off)"

    @property
    def holds(self) -> tuple[str, ...]:
        """The cases that bear it out, in words."""
        return self._told(True)

    @property
    def exceptions(self) -> tuple[str, ...]:
        """The others."""
        return self._told(False)

    def _told(self, holds: bool) -> tuple[str, ...]:
        """Return a line per case, or per pair of curves with its number of cases and errors."""
        lines = []
        for who in dict.fromkeys(each.who for each in self.evidence):
            mine = [each for each in self.evidence if each.who == who]
            told = [each for each in mine if each.holds == holds]
            errors = sorted(each.error for each in told if each.error is not None)
            if errors:
                span = f"{errors[0]:.0e} .. {errors[-1]:.0e}"
                lines.append(f"{who}: {len(errors)} of {len(mine)}, errors {span}")
            else:
                lines += [f"{who}: {each.number:.2g}" for each in told]
        return tuple(lines)


def with_alternatives(claim: Claim, others: Iterable[Claim]) -> Claim:
    """Return a claim about times, with the verdicts that differ among `others`, times off."""
    statuses = (each.status for each in others)
    differing = tuple(dict.fromkeys(each for each in statuses if each != claim.status))
    return replace(claim, counted=SECONDS, others=differing)


def claims_text(title: str, claims: Sequence[Claim], published: Mapping[str, str]) -> str:
    """Return claims in words, published beside computed."""
    lines = [title]
    for key in dict.fromkeys(each.key for each in claims):
        lines.append(f'  published: "{published[key]}"')
        for each in (claim for claim in claims if claim.key == key):
            lines += _claim_lines(each)
    return "\n".join(lines)


def _claim_lines(claim: Claim) -> list[str]:
    computed = claim.verdict
    if claim.evidence:
        computed += (
            f", {claim.share:.0%} of {claim.cases} cases, median {number(claim.number, '.3g')} "
            f"({number(claim.least, '.2g')} .. {number(claim.most, '.2g')})"
        )
    lines = [f"    computed: {computed}"]
    fewer, word = claim.exceptions, "except"
    if len(claim.holds) < len(claim.exceptions):
        fewer, word = claim.holds, "only"
    notes = (
        [f"({claim.measure})", f"{word} {_abbreviated(fewer)}"]
        if fewer
        else [f"({claim.measure})"]
    )
    for each in notes:
        lines += textwrap.wrap(each, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return lines


def _abbreviated(cases: Sequence[str]) -> str:
    more = f"; and {len(cases) - LISTED} more" if len(cases) > LISTED else ""
    return "; ".join(cases[:LISTED]) + more


def claims_table(claims: Sequence[Claim], columns: Mapping[str, str]) -> Table:
    """Return claims as a table.

    Args:
        claims: What to tell.
        columns: Name of a column -> attribute of `Claim`.
    """
    rows = (tuple(getattr(each, name) for name in columns.values()) for each in claims)
    return Table("claims", "The claims and their verdicts", tuple(columns), tuple(rows))


def claims_content(
    claims: Sequence[Claim], columns: Mapping[str, str], published: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the rows of `claims_table` as mappings, each with the words of the paper."""
    rows = claims_table(claims, columns).content()["rows"]
    return [{"published": published[row["key"]], **row} for row in rows]


def claim_rows(claims: Iterable[Claim], published: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the claims of a paper as mappings, in its order, undecided ones with their reason."""
    words, reasons = published.get("claims", {}), published.get("not_reproducible", {})
    claims, rows = list(claims), []
    for key, text in words.items():
        for each in (claim for claim in claims if claim.key == key):
            row = {"key": key, "published": text, "about": each.about, "measure": each.measure}
            numbers = ("number", "least", "most", "cases", "share", "counted", "verdict")
            rows.append(row | {name: getattr(each, name) for name in numbers})
        if key in reasons:
            rows.append({"key": key, "published": text, "measure": reasons[key]})
            rows[-1] |= {"cases": 0, "verdict": UNDECIDED}
    return rows
