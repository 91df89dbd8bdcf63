"""Findings of an inspection, and the inspection of a robot as their collection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

LEVELS = ("error", "warning", "note")
"""Error: refused by `load_robot`, or computed wrongly. Warning: not what is meant, most likely, or
not what another program makes of it. Note: worth knowing."""


@dataclass(frozen=True)
class Finding:
    """One thing about one part of a robot.

    Attributes:
        level: ``error``, ``warning`` or ``note``, see `LEVELS`.
        part: ``link``, ``joint`` or ``robot``.
        name: Of the link, joint or robot.
        what: The thing, in a word or three, such as ``inertia``.
        value: What it is.
        expected: What was expected.
        remedy: What to do; empty: nothing has to be done.
    """

    level: str
    part: str
    name: str
    what: str
    value: str
    expected: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return it as one line."""
        return f"{self.level}: {self.part} '{self.name}': {self.told}"

    @property
    def told(self) -> str:
        """What, its value, what was expected and what to do, as one line."""
        line = f"{self.what}: {self.value}"
        line += f"; expected {self.expected}" if self.expected else ""
        return f"{line}; {self.remedy}" if self.remedy else line


class Agreement(NamedTuple):
    """How far this package and another program are from each other, over some states.

    Attributes:
        peer: The other program.
        quantity: What both compute.
        difference: Largest difference, relative to the largest value.
        bound: What rounding explains.
    """

    peer: str
    quantity: str
    difference: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether rounding explains the difference."""
        return self.difference <= self.bound


@dataclass(frozen=True)
class Inspection:
    """All that a check found.

    Attributes:
        robot: The robot's name.
        findings: Errors first, then warnings, then notes.
        agreements: With each program that was compared.
        condition: Largest condition number of the mass matrix over sampled postures; None
            where the robot could not be loaded.
    """

    robot: str
    findings: tuple[Finding, ...]
    agreements: tuple[Agreement, ...]
    condition: float | None

    @property
    def success(self) -> bool:
        """Whether there is no error."""
        return not self.of_level("error")

    @property
    def reason(self) -> str:
        """How many findings of each level there are, in words."""
        return counted(self.findings)

    def of_level(self, level: str) -> list[Finding]:
        """Return the findings of one level."""
        return [each for each in self.findings if each.level == level]

    def content(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return {
            "robot": self.robot,
            "success": self.success,
            "reason": self.reason,
            "condition": self.condition,
            "findings": [asdict(each) for each in self.findings],
            "agreements": [{**each._asdict(), "holds": each.holds} for each in self.agreements],
        }


def counted(findings: Sequence[Finding]) -> str:
    """Return how many there are of each level, in words."""
    counts = [(sum(each.level == level for each in findings), level) for level in LEVELS]
    return ", ".join(f"{k} {level}{'s' if k != 1 else ''}" for k, level in counts)


def by_level(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings, errors first; those of one level stay in order."""
    return tuple(sorted(findings, key=lambda each: LEVELS.index(each.level)))


def grouped(findings: Sequence[Finding]) -> list[tuple[Finding, list[str]]]:
    """Return findings that say the same once, with the names of all parts of which they do."""
    names: dict[Finding, list[str]] = {}
    for each in findings:
        names.setdefault(replace(each, name=""), []).append(each.name)
    return list(names.items())
