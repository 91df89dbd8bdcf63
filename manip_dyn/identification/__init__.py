"""What an arm weighs and rubs, from its motion."""

from manip_dyn.identification.estimation import Identification, identify
from manip_dyn.identification.excitation_planning import Excitation, plan_excitation
from manip_dyn.identification.parameters import (
    BaseParameters,
    base_parameters,
    parameter_names,
    regressor,
    stated_parameters,
)

excitation = plan_excitation
"""The name of `plan_excitation` before 0.3."""

__all__ = [
    "BaseParameters",
    "Excitation",
    "Identification",
    "base_parameters",
    "excitation",
    "identify",
    "parameter_names",
    "plan_excitation",
    "regressor",
    "stated_parameters",
]
