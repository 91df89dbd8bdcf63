"""Identification of an arm's inertial parameters and friction from its motion."""

from manip_dyn.identification.estimation import (
    Identification as Identification,
)
from manip_dyn.identification.estimation import (
    identify as identify,
)
from manip_dyn.identification.excitation_planning import (
    Excitation as Excitation,
)
from manip_dyn.identification.excitation_planning import (
    plan_excitation as plan_excitation,
)
from manip_dyn.identification.parameters import (
    BaseParameters as BaseParameters,
)
from manip_dyn.identification.parameters import (
    base_parameters as base_parameters,
)
from manip_dyn.identification.parameters import (
    observation as observation,
)
from manip_dyn.identification.parameters import (
    parameter_names as parameter_names,
)
from manip_dyn.identification.parameters import (
    regressor as regressor,
)
from manip_dyn.identification.parameters import (
    spring_efforts as spring_efforts,
)
from manip_dyn.identification.parameters import (
    stated_parameters as stated_parameters,
)
