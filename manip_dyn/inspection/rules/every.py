"""All rules, in the order in which their findings are told."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element

from manip_dyn.inspection.parts.finding import Finding
from manip_dyn.inspection.rules import limits, masses, passive, spelling, structure
from manip_dyn.inspection.rules.meshes import meshes

TREE = (structure.ends, structure.one_tree)
"""Rules without which a URDF is no tree."""
CONTENT = (
    structure.names,
    spelling.numbers,
    structure.joint_types,
    spelling.words,
    masses.missing,
    masses.inertias,
    masses.root_mass,
    limits.limits,
    limits.axes,
    limits.origins,
    passive.dynamics,
    passive.mimics,
)


def findings_in(root: Element, folder: Path | None) -> list[Finding]:
    """Return what all rules say of a URDF; of one that is no tree, only why.

    Args:
        root: Its XML.
        folder: Where it lies; None for a text.
    """
    for rule in TREE:
        broken = list(rule(root))
        if broken:
            return [*structure.names(root), *broken]
    found = [finding for rule in CONTENT for finding in rule(root)]
    return [*found, *meshes(root, folder)]
