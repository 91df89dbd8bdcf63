"""The pinocchio model of a description: its bodies, a payload, scaled masses."""

from __future__ import annotations

import pinocchio

from manip_dyn.core.errors import ManipDynError
from manip_dyn.robot.description import Description
from manip_dyn.robot.extras import Extras, Payload


def pinocchio_model(
    description: Description, extras: Extras, mass_scale: float
) -> pinocchio.Model:
    """Return the model with the payload and the gravity of the extras.

    Args:
        description: The URDF.
        extras: What it cannot say.
        mass_scale: Factor of all masses and inertias, payload included.

    Raises:
        ManipDynError: If pinocchio refuses the URDF.
    """
    try:
        model = pinocchio.buildModelFromXML(description.text(continuous_as_revolute=True))
    except (ValueError, RuntimeError) as error:
        raise ManipDynError(f"robot '{description.name}' is refused: {error}") from error
    if extras.payload is not None and extras.payload.link in description.links():
        _attach(model, extras.payload)
    model.gravity.linear = extras.gravity
    _scale(model, mass_scale)
    return model


def _attach(model: pinocchio.Model, payload: Payload) -> None:
    frame = model.frames[model.getFrameId(payload.link, pinocchio.BODY)]
    inertia = pinocchio.Inertia(payload.mass, payload.com, payload.inertia)
    model.appendBodyToJoint(frame.parentJoint, inertia, frame.placement)


def _scale(model: pinocchio.Model, factor: float) -> None:
    for i, body in enumerate(model.inertias):
        if factor != 1.0:
            model.inertias[i] = pinocchio.Inertia(
                factor * body.mass, body.lever, factor * body.inertia
            )
