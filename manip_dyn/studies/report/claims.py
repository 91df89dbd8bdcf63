"""Claims of a paper with their evidence and verdicts.

A claim is judged by the fraction of its cases that support it. The rule is the same for all
papers:

confirmed           at least 95 % of the cases support the claim
partly confirmed    at least half of the cases support it
refuted             fewer cases support it
by construction     as confirmed, but the model was built to have the compared value
not measured        there are no cases
not reproducible    no computation can decide the claim; ``published.json`` contains the reason
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
        *("confirmed", "reproduced", "as published", "expected order", "not above", "arrived"),
        *("arrives", "fits the figure"),
    ),
    "part": (
        *("partly confirmed", "close", "corrected", "higher order", "lower order"),
        *("arrives, not at the printed time", "arrives, at the printed time for some digits"),
        "fits the figure without the load only",
    ),
    "bad": ("refuted", "differs", "above", "does not arrive", "missing"),
    "open": (
        "by construction",
        "not reproducible",
        "not measured",
        "not published",
        "no number to compare",
    ),
}
"""Statuses by kind."""
SECONDS, AT_THE_LIMIT = "seconds", "steps at the limit of stability"
AMPLIFIED = "runs that amplify rounding errors"
"""Values of `Claim.counted` for numbers that depend on the machine: computing times, numbers of
steps at the stability limit, which rounding errors of the BLAS change by a few percent, and errors
of unstable runs."""
KIND_OF = {words: kind for kind, statuses in KINDS.items() for words in statuses}


def counted(statuses: Sequence[str]) -> str:
    """List the distinct statuses with their counts as text, or the status if all are equal."""
    counts = Counter(statuses)
    if len(counts) == 1:
        return statuses[0]
    return ", ".join(f"{count} {TIMES} {status}" for status, count in counts.items())


def parts(status: str) -> list[str]:
    """Split a string with several statuses, such as the result of `counted`."""
    return [
        part for group in status.split("; ") for part in re.split(rf", (?=\d+ {TIMES} )", group)
    ]


def kind_of(part: str) -> str:
    """Return the key of `KINDS` for a single status, or "" for others such as "plotted".

    A verdict with alternatives (see `Claim.verdict`) is of the kind ``part``.
    """
    words = re.sub(rf"^\d+ {TIMES} ", "", part)
    if " (" in words and words.split(" (")[0] in KIND_OF:
        return "part"  # the verdict depends on the measured times
    return KIND_OF.get(words, "")


# ------------------------------------------------------------------------------------ claims
NEARLY_ALL, HALF = 0.95, 0.5
TIME_ERROR = 0.1
"""Fraction by which the load of the machine may change the ratio of two median times."""
UNDECIDED, CONSTRUCTED = "not reproducible", "by construction"
LISTED = 8
"""Maximum number of cases listed in text; JSON and CSV contain all of them."""


class Evidence(NamedTuple):
    """One case of a claim.

    Attributes:
        name: Name of the case, or of the compared curves.
        number: Measured ratio, fraction or error.
        holds: Whether the case supports the claim.
        error: Error at which two curves are compared, or None for other cases.
    """

    name: str
    number: float
    holds: bool
    error: float | None = None


@dataclass(frozen=True)
class Claim:
    """One interpretation of a claim of a paper, with its evidence.

    Attributes:
        key: Key of the claim in ``published.json`` of the paper.
        measure: Measured quantity, and the condition under which a case supports the claim.
        evidence: All cases.
        about: Robot of the measurement, if there are several.
        counted: `SECONDS`, `AT_THE_LIMIT` or `AMPLIFIED` if the numbers depend on the machine,
            else "".
        alternatives: Other verdicts that would result if times changed by `TIME_ERROR`.
        constructed: Whether a parameter of the model was chosen for the compared value, so that
            agreement confirms nothing.
    """

    key: str
    measure: str
    evidence: tuple[Evidence, ...]
    about: str = ""
    counted: str = ""
    alternatives: tuple[str, ...] = ()
    constructed: bool = False

    @property
    def number(self) -> float:
        """Median of the measured numbers, or NaN without cases."""
        return median(case.number for case in self.evidence) if self.evidence else math.nan

    @property
    def least(self) -> float:
        """Smallest measured number, or NaN without cases."""
        return min((case.number for case in self.evidence), default=math.nan)

    @property
    def most(self) -> float:
        """Largest measured number, or NaN without cases."""
        return max((case.number for case in self.evidence), default=math.nan)

    @property
    def fraction(self) -> float:
        """Fraction of cases that support the claim, or NaN without cases."""
        return sum(e.holds for e in self.evidence) / self.cases if self.evidence else math.nan

    @property
    def cases(self) -> int:
        """Number of cases."""
        return len(self.evidence)

    @property
    def status(self) -> str:
        """Verdict that follows from the measured numbers."""
        if not self.evidence:
            return "not measured"
        if self.fraction >= NEARLY_ALL:
            return CONSTRUCTED if self.constructed else "confirmed"
        return "partly confirmed" if self.fraction >= HALF else "refuted"

    @property
    def verdict(self) -> str:
        """Status, and the other statuses that measured times with a plausible error would give."""
        if not self.alternatives:
            return self.status
        return f"{self.status} ({' or '.join(self.alternatives)} with times {TIME_ERROR:.0%} off)"

    @property
    def holds(self) -> tuple[str, ...]:
        """Supporting cases as text."""
        return self._lines(True)

    @property
    def exceptions(self) -> tuple[str, ...]:
        """Contradicting cases as text."""
        return self._lines(False)

    def _lines(self, holds: bool) -> tuple[str, ...]:
        """Return one line per case, or one line with counts and errors per pair of curves."""
        lines = []
        for name in dict.fromkeys(case.name for case in self.evidence):
            mine = [case for case in self.evidence if case.name == name]
            cases = [case for case in mine if case.holds == holds]
            errors = sorted(case.error for case in cases if case.error is not None)
            if errors:
                span = f"{errors[0]:.0e} .. {errors[-1]:.0e}"
                lines.append(f"{name}: {len(errors)} of {len(mine)}, errors {span}")
            else:
                lines += [f"{name}: {case.number:.2g}" for case in cases]
        return tuple(lines)


def with_alternatives(claim: Claim, shifted: Iterable[Claim]) -> Claim:
    """Return a claim about times with its alternative verdicts, counted in seconds.

    Args:
        claim: The claim with the measured times.
        shifted: The same claim with scaled times. Its verdicts are added where they differ.
    """
    statuses = (item.status for item in shifted)
    differing = tuple(dict.fromkeys(status for status in statuses if status != claim.status))
    return replace(claim, counted=SECONDS, alternatives=differing)


def claims_text(title: str, claims: Sequence[Claim], published: Mapping[str, str]) -> str:
    """Format claims as text, with the sentences of the paper and the computed numbers."""
    lines = [title]
    for key in dict.fromkeys(claim.key for claim in claims):
        lines.append(f'  published: "{published[key]}"')
        for item in (claim for claim in claims if claim.key == key):
            lines += _claim_lines(item)
    return "\n".join(lines)


def _claim_lines(claim: Claim) -> list[str]:
    computed = claim.verdict
    if claim.evidence:
        computed += (
            f", {claim.fraction:.0%} of {claim.cases} cases, median {number(claim.number, '.3g')} "
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
    for note in notes:
        lines += textwrap.wrap(note, WIDTH, initial_indent=" " * 6, subsequent_indent=" " * 6)
    return lines


def _abbreviated(cases: Sequence[str]) -> str:
    more = f"; and {len(cases) - LISTED} more" if len(cases) > LISTED else ""
    return "; ".join(cases[:LISTED]) + more


def claims_table(claims: Sequence[Claim], columns: Mapping[str, str]) -> Table:
    """Return claims as a table.

    Args:
        claims: The claims.
        columns: Attributes of `Claim` by name of the column.
    """
    rows = (tuple(getattr(claim, name) for name in columns.values()) for claim in claims)
    return Table("claims", "The claims and their verdicts", tuple(columns), tuple(rows))


def claims_content(
    claims: Sequence[Claim], columns: Mapping[str, str], published: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the rows of `claims_table` as mappings, with the sentences of the paper."""
    rows = claims_table(claims, columns).content()["rows"]
    return [{"published": published[row["key"]], **row} for row in rows]


def claim_rows(claims: Iterable[Claim], published: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return all claims of a paper as mappings, in the order of the paper.

    A claim that cannot be reproduced has a row with the reason instead of a measure.
    """
    sentences, reasons = published.get("claims", {}), published.get("not_reproducible", {})
    claims, rows = list(claims), []
    for key, text in sentences.items():
        for item in (claim for claim in claims if claim.key == key):
            row = {"key": key, "published": text, "about": item.about, "measure": item.measure}
            row["share"] = item.fraction
            numbers = ("number", "least", "most", "cases", "counted", "verdict")
            rows.append(row | {name: getattr(item, name) for name in numbers})
        if key in reasons:
            rows.append({"key": key, "published": text, "measure": reasons[key]})
            rows[-1] |= {"cases": 0, "verdict": UNDECIDED}
    return rows
