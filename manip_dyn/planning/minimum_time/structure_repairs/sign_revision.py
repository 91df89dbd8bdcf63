"""What an extremal asks for: the structure that its own switching functions have."""

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
    """Return the structure whose efforts have the signs that the switching functions ask for.

    Where they lie between their limits they remain there, and where they would pass them they
    are at them.
    """
    n, arcs, here = along.switching.shape[1], switching.arcs(), refined_arcs(along)
    controls, rows = list(switching.controls), list[tuple[float, int, Control]]()
    contacts = [row for row in switching.rows() if row[2].is_contact]
    for joint in range(n):
        times, values = refined(along, joint)
        own = [each[joint] for _, _, each in arcs]
        is_full = np.array([each.is_full for each in own])[here]
        shares = along.shares[refined_samples(along), joint]
        signs = np.where(is_full, -np.sign(values), np.sign(shares)).tolist()
        is_asked = is_full | (np.abs(shares) > FULL_EFFORT)
        asked = [
            control_of_sign(sign) if new else own[arc]
            for sign, new, arc in zip(signs, is_asked.tolist(), here.tolist(), strict=True)
        ]
        clear = ~is_full | (np.abs(values) > 1e-9 * np.abs(values).max())
        first = int(np.argmax(clear * (1.0 + np.abs(values)) * (times <= times[3])))
        controls[joint] = current = asked[first]
        for k in np.flatnonzero(clear):
            if asked[k] != current:
                a, b = values[k - 1], values[k]
                share = a / (a - b) if a * b < 0.0 else 0.0
                rows.append(
                    (float(times[k - 1] + share * (times[k] - times[k - 1])), joint, asked[k])
                )
                current = asked[k]
    return assembled(controls, rows + contacts, switching.t_final)
