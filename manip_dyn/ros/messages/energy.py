"""Energies of a simulated arm."""

from __future__ import annotations

from std_msgs.msg import Float64MultiArray, MultiArrayDimension, MultiArrayLayout

from manip_dyn.simulation import Energy


def energy_message(energy: Energy) -> Float64MultiArray:
    """Return energies, J, with their names as the label of the only dimension."""
    names = ",".join(f"{name} [J]" for name in energy._fields)
    size = len(energy)
    label = MultiArrayDimension(label=names, size=size, stride=size)
    return Float64MultiArray(layout=MultiArrayLayout(dim=[label]), data=list(energy))
