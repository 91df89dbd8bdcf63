"""Revision of a structure by the signs of its extremal's switching functions."""

from __future__ import annotations

import numpy as np

from manip_dyn.planning.certificate import FULL_EFFORT
from manip_dyn.planning.minimum_time.extremals.controls import Control, control_of_sign
from manip_dyn.planning.minimum_time.extremals.structure import Switching, assembled
from manip_dyn.planning.minimum_time.extremals.trajectory import (
    Trajectory,
    refined,
    refined_arcs,
    refined_samples,
)


def revised(along: Trajectory, switching: Switching) -> Switching:
    """Return the structure with full efforts that have the signs of the switching functions.

    Efforts between their limits remain unchanged unless they exceed a limit; they then become
    full.
    """
    n, arcs, here = along.switching.shape[1], switching.arcs(), refined_arcs(along)
    controls, rows = list(switching.controls), list[tuple[float, int, Control]]()
    contacts = [row for row in switching.rows() if row[2].is_contact]
    for joint in range(n):
        times, values = refined(along, joint)
        own = [controls_of_arc[joint] for _, _, controls_of_arc in arcs]
        is_full = np.array([control.is_full for control in own])[here]
        normalized = along.normalized_efforts[refined_samples(along), joint]
        signs = np.where(is_full, -np.sign(values), np.sign(normalized)).tolist()
        is_revised = is_full | (np.abs(normalized) > FULL_EFFORT)
        required = [
            control_of_sign(sign) if new else own[arc]
            for sign, new, arc in zip(signs, is_revised.tolist(), here.tolist(), strict=True)
        ]
        clear = ~is_full | (np.abs(values) > 1e-9 * np.abs(values).max())
        first = int(np.argmax(clear * (1.0 + np.abs(values)) * (times <= times[3])))
        controls[joint] = current = required[first]
        for k in np.flatnonzero(clear):
            if required[k] != current:
                a, b = values[k - 1], values[k]
                fraction = a / (a - b) if a * b < 0.0 else 0.0
                rows.append(
                    (
                        float(times[k - 1] + fraction * (times[k] - times[k - 1])),
                        joint,
                        required[k],
                    )
                )
                current = required[k]
    return assembled(controls, rows + contacts, switching.t_final)
