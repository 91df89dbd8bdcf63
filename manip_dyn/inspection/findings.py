"""Findings and results of a URDF check."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from manip_dyn.core.deprecation import renamed_attribute

LEVELS = ("error", "warning", "note")
"""Levels of findings. ``error``: `load_robot` rejects the robot, or this package and pinocchio
disagree. ``warning``: probably not intended, or interpreted differently by another program.
``note``: information."""


@dataclass(frozen=True)
class Finding:
    """A finding about a link, a joint or the robot.

    Attributes:
        level: ``error``, ``warning`` or ``note`` (see `LEVELS`).
        part: ``link``, ``joint`` or ``robot``.
        name: Name of the link, joint or robot.
        what: Name of the property, such as ``inertia``.
        value: Value of the property.
        expected: Expected value, or "".
        remedy: Suggested remedy, or "".
    """

    level: str
    part: str
    name: str
    what: str
    value: str
    expected: str
    remedy: str = ""

    def __str__(self) -> str:
        """Return the finding as a single line."""
        return f"{self.level}: {self.part} '{self.name}': {self.message}"

    @property
    def message(self) -> str:
        """Property, value, expected value and remedy as a single line."""
        line = f"{self.what}: {self.value}"
        line += f"; expected {self.expected}" if self.expected else ""
        return f"{line}; {self.remedy}" if self.remedy else line

    told = renamed_attribute("Finding.told", "message")


class Agreement(NamedTuple):
    """Comparison of a quantity between this package and another program at several states.

    Attributes:
        peer: Name of the other program.
        quantity: Name of the compared quantity.
        difference: Largest difference relative to the largest value; for gravity, relative to the
            largest effort of the inverse dynamics.
        bound: Largest relative difference that rounding can explain.
    """

    peer: str
    quantity: str
    difference: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the difference is within `bound`."""
        return self.difference <= self.bound


@dataclass(frozen=True)
class Inspection:
    """Result of a URDF check.

    Attributes:
        robot: Name of the robot.
        findings: Errors, then warnings, then notes.
        agreements: Quantities compared with other programs.
        condition: Largest condition number of the mass matrix over random postures, or None if
            the robot cannot be loaded.
    """

    robot: str
    findings: tuple[Finding, ...]
    agreements: tuple[Agreement, ...]
    condition: float | None

    @property
    def success(self) -> bool:
        """Whether there are no errors."""
        return not self.of_level("error")

    @property
    def reason(self) -> str:
        """Number of findings per level, such as ``1 error, 0 warnings, 2 notes``."""
        return counted(self.findings)

    def of_level(self, level: str) -> list[Finding]:
        """Return the findings with a level."""
        return [finding for finding in self.findings if finding.level == level]

    def content(self) -> dict[str, Any]:
        """Return the inspection as plain data for JSON."""
        return {
            "robot": self.robot,
            "success": self.success,
            "reason": self.reason,
            "condition": self.condition,
            "findings": [asdict(finding) for finding in self.findings],
            "agreements": [
                {**agreement._asdict(), "holds": agreement.holds} for agreement in self.agreements
            ],
        }


def counted(findings: Sequence[Finding]) -> str:
    """Return the number of findings per level, such as ``1 error, 0 warnings, 2 notes``."""
    counts = [(sum(finding.level == level for finding in findings), level) for level in LEVELS]
    return ", ".join(f"{k} {level}{'s' if k != 1 else ''}" for k, level in counts)


def by_level(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return the findings sorted by level, starting with errors (stable sort)."""
    return tuple(sorted(findings, key=lambda finding: LEVELS.index(finding.level)))


def grouped(findings: Sequence[Finding]) -> list[tuple[Finding, list[str]]]:
    """Group findings that differ only in `name`; return each with the list of names.

    The `name` of the returned findings is "".
    """
    names: dict[Finding, list[str]] = {}
    for finding in findings:
        names.setdefault(replace(finding, name=""), []).append(finding.name)
    return list(names.items())
