"""What an arm weighs and rubs, from its motion."""

from manip_dyn.identification.base import BaseParameters, base_parameters
from manip_dyn.identification.excite import Excitation, excitation
from manip_dyn.identification.from_log import identify
from manip_dyn.identification.regressor import parameter_names, regressor, stated_parameters
from manip_dyn.identification.result import Identification

__all__ = [
    "BaseParameters",
    "Excitation",
    "Identification",
    "base_parameters",
    "excitation",
    "identify",
    "parameter_names",
    "regressor",
    "stated_parameters",
]
