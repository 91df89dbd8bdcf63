"""This package beside other programs: how far apart, and by which terms of which link."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec

import numpy as np

from manip_dyn.inspection.comparison.agreement import agreements_with, states_of
from manip_dyn.inspection.comparison.ours import ByEquations, Dynamics
from manip_dyn.inspection.comparison.pinocchio_peer import PinocchioPeer
from manip_dyn.inspection.comparison.reading import Peer, stated_reading
from manip_dyn.inspection.comparison.terms import differing_terms, with_terms
from manip_dyn.inspection.parts.finding import Agreement, Finding
from manip_dyn.robot import Robot
from manip_dyn.robot.extras import Payload
from manip_dyn.robot.tree import links_of

OTHERS = {"mujoco": ("MuJoCo", "MujocoPeer"), "drake": ("Drake", "DrakePeer")}
"""Package on PyPI -> name and class; its module here is called as the package is."""
MODULES = {"mujoco": "mujoco", "drake": "pydrake"}


def compare(
    robot: Robot, payload: Payload | None, ours: Dynamics, peers: Sequence[Peer] | None = None
) -> tuple[list[Finding], list[Agreement]]:
    """Return what differs, by name, and how far, between this package and others.

    Args:
        robot: As `load_robot` gives it.
        payload: Of its YAML.
        ours: This package's dynamics of it.
        peers: What to compare with; None: pinocchio, and what else is installed.
    """
    findings: list[Finding] = []
    if peers is None:
        peers, findings = _installed(robot)
    agreements: list[Agreement] = []
    stated = stated_reading(robot, payload)
    for peer in peers:
        found = agreements_with(peer, ours, robot)
        level = "error" if isinstance(peer, PinocchioPeer) else "warning"
        terms = list(
            differing_terms(peer.name, level, stated, peer.reading, robot.urdf, peer.whole)
        )
        findings += terms
        if not all(each.holds for each in found):
            findings += _reasons(robot, peer, level, terms, found)
        agreements += found
    return findings, agreements


def _installed(robot: Robot) -> tuple[list[Peer], list[Finding]]:
    """Return the programs that have read the robot, and what those say that have not."""
    peers, notes = list[Peer]([PinocchioPeer(robot)]), list[Finding]()
    for package, (name, kind) in OTHERS.items():
        value, remedy = "", ""
        if not find_spec(MODULES[package]):
            value, remedy = f"{name} is not installed", f"pip install {package}"
        else:
            module = import_module(f"manip_dyn.inspection.comparison.{package}_peer")
            try:
                peers.append(getattr(module, kind)(robot))
            except (RuntimeError, ValueError, KeyError, TypeError) as error:
                value = f"{name} refuses the URDF: {' '.join(str(error).split())[:200]}"
        if value:
            notes.append(Finding("note", "robot", robot.name, "comparison", value, "", remedy))
    return peers, notes


def _reasons(
    robot: Robot, peer: Peer, level: str, terms: Sequence[Finding], found: Sequence[Agreement]
) -> Iterator[Finding]:
    """Yield whether the terms that differ are why the results do, and what else does."""
    misplaced = _first_misplaced(robot, peer)
    if misplaced:
        wanted = "where the URDF has it"
        value = f"elsewhere in {peer.name}"
        yield Finding(level, "link", misplaced, "placement", value, wanted, "look at its joint")
        return
    worst = max((each for each in found if not each.holds), key=lambda each: each.difference)
    told = f"{worst.quantity} of {peer.name} differs by {worst.difference:.2g} of its size"
    theirs = ByEquations(with_terms(robot, peer.reading, peer.whole))
    left = [each for each in agreements_with(peer, theirs, robot) if not each.holds]
    if terms and not left:
        wanted = "nothing else: with the terms above, all agrees"
        yield Finding("note", "robot", robot.name, "comparison", told, wanted)
    else:
        wanted = "rounding"
        remedy = "also with the terms that it has otherwise" if terms else "no term tells why"
        yield Finding(level, "robot", robot.name, "comparison", told, wanted, remedy)


def _first_misplaced(robot: Robot, peer: Peer) -> str:
    """Return the first link, base to tips, that a program has elsewhere; empty: none."""
    reference = PinocchioPeer(robot)
    q = states_of(robot)[0][0]
    for link in links_of(ElementTree.fromstring(robot.urdf)):
        apart = peer.pose(link, q) - reference.pose(link, q)
        if np.abs(apart).max() > 1e-8:
            return link
    return ""
