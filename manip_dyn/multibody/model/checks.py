"""Whether bodies, joints and forces fit together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from manip_dyn.errors import ManipDynError, closest
from manip_dyn.multibody.model.elements import GROUND, Force, Joint, RotationalSpring

_PARALLEL = 1e-6
"""Largest sine between two unit vectors that count as one axis."""


def all_of(name: str, values: Any, kind: Any) -> tuple[Any, ...]:
    """Return values as a tuple; refuse those of another kind."""
    wanted = " or ".join(each.__name__ for each in getattr(kind, "__args__", (kind,)))
    if not isinstance(values, Iterable) or isinstance(values, (str, dict)):
        raise ManipDynError(f"{name} is {values!r}; expected a list of {wanted}")
    found = tuple(values)
    for place, value in enumerate(found):
        if not isinstance(value, kind):
            raise ManipDynError(f"{name}[{place}] is {value!r}; expected {wanted}")
    return found


def check_names(names: Sequence[str]) -> None:
    """Refuse that there are none, or that two are the same."""
    if not names:
        raise ManipDynError("a mechanism has no bodies; expected at least one")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ManipDynError(f"two bodies are called '{min(twice)}'; expected different names")


def check_connected(names: Sequence[str], links: Sequence[Joint | Force]) -> None:
    """Refuse unknown bodies, and bodies that nothing connects with the others."""
    groups = {name: {name} for name in (*names, GROUND)}
    for link in links:
        for name in link.bodies:
            if name not in groups:
                raise ManipDynError(f"there is no body '{name}'{closest(str(name), groups)}")
        if link.bodies[0] == link.bodies[1]:
            raise ManipDynError(f"a joint or force connects '{link.bodies[0]}' with itself")
        union = groups[link.bodies[0]] | groups[link.bodies[1]]
        for name in union:
            groups[name] = union
    largest = max(groups.values(), key=len)
    apart = [name for name in names if name not in largest]
    if apart:
        raise ManipDynError(
            f"body '{apart[0]}' is not connected with '{next(n for n in names if n in largest)}'; "
            "expected joints or forces that connect all bodies"
        )


def check_shared_axes(joints: Sequence[Joint], forces: Sequence[Force]) -> None:
    """Refuse rotational springs about another axis than that of a revolute joint beside them."""
    for spring in forces:
        if not isinstance(spring, RotationalSpring):
            continue
        for joint in joints:
            beside = joint.kind == "revolute" and set(joint.bodies) == set(spring.bodies)
            if beside and np.linalg.norm(np.cross(joint.axis[0], spring.axis)) > _PARALLEL:
                raise ManipDynError(
                    f"the rotational spring {'-'.join(spring.bodies)} has the axis "
                    f"{spring.axis.tolist()}; expected {joint.axis[0].tolist()}, that of the "
                    f"joint '{joint.name}' between the same bodies"
                )
