"""Damping, friction and mimic joints: what a URDF says beside the rigid bodies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from xml.etree.ElementTree import Element

from manip_dyn.inspection.parts.finding import Finding
from manip_dyn.inspection.parts.stated import number
from manip_dyn.robot.tree import joints_of, movable_joints_of

MEANING = {
    "damping": "part of all dynamics here; pinocchio's own algorithms leave it out",
    "friction": "Coulomb friction: simulated and compensated here, not in M, ID and derivatives; "
    "plan_minimum_time refuses it; Drake and pinocchio leave it out",
}


def dynamics(root: Element) -> Iterator[Finding]:
    """Yield damping and friction that are stated, and what they mean."""
    for name, joint in movable_joints_of(root).items():
        for key, meaning in MEANING.items():
            value = number(joint.find("dynamics"), key)
            unit = _unit(joint, key)
            if not math.isfinite(value):
                continue  # told as a number that is none
            if value < 0.0:
                wanted = "0 or more"
                yield Finding("error", "joint", name, key, f"{value:g} {unit}", wanted)
            elif value > 0.0:
                yield Finding("note", "joint", name, key, f"{value:g} {unit}", "", meaning)


def mimics(root: Element) -> Iterator[Finding]:
    """Yield joints that follow others."""
    known = joints_of(root)
    for name, joint in known.items():
        mimic = joint.find("mimic")
        if mimic is None:
            continue
        leader = mimic.get("joint", "")
        value = f"of '{leader}'"
        if leader not in known:
            wanted = "the name of a joint"
            yield Finding("error", "joint", name, "mimic", f"{value}, which is not there", wanted)
        elif joint.get("type") == "fixed":
            yield Finding("note", "joint", name, "mimic", f"{value}, but it is fixed", "", "")
        else:
            remedy = f"not modelled: lock '{leader}' (and so this one), or set a tip before it"
            yield Finding("error", "joint", name, "mimic", value, "a joint of its own", remedy)


def _unit(joint: Element, key: str) -> str:
    slides = joint.get("type") == "prismatic"
    return {"damping": ("N m s/rad", "N s/m"), "friction": ("N m", "N")}[key][slides]
