"""Initial value problems: methods, step control, events and compiled time loops."""

from manip_dyn.core.results import (
    Statistics as Statistics,
)
from manip_dyn.integration.engine import (
    Engine as Engine,
)
from manip_dyn.integration.engine import (
    compile_engine as compile_engine,
)
from manip_dyn.integration.loop_arrays import (
    Space as Space,
)
from manip_dyn.integration.methods.adams import (
    Adams as Adams,
)
from manip_dyn.integration.methods.method import (
    Method as Method,
)
from manip_dyn.integration.methods.method import (
    Options as Options,
)
from manip_dyn.integration.methods.method import (
    order_for as order_for,
)
from manip_dyn.integration.methods.registry import (
    ALIASES as ALIASES,
)
from manip_dyn.integration.methods.registry import (
    METHODS as METHODS,
)
from manip_dyn.integration.methods.rosenbrock import (
    Rosenbrock as Rosenbrock,
)
from manip_dyn.integration.methods.rosenbrock_tableaus import (
    RosenbrockTableau as RosenbrockTableau,
)
from manip_dyn.integration.methods.rosenbrock_tableaus import (
    order_four as order_four,
)
from manip_dyn.integration.methods.rosenbrock_tableaus import (
    w_method as w_method,
)
from manip_dyn.integration.methods.runge_kutta import (
    RightHandSide as RightHandSide,
)
from manip_dyn.integration.methods.runge_kutta import (
    RungeKutta as RungeKutta,
)
from manip_dyn.integration.methods.runge_kutta import (
    rk4_step as rk4_step,
)
from manip_dyn.integration.methods.step_control import (
    Status as Status,
)
from manip_dyn.integration.methods.tableaus import (
    Tableau as Tableau,
)
from manip_dyn.integration.methods.tableaus import (
    euler_trapezoidal as euler_trapezoidal,
)
from manip_dyn.integration.methods.tableaus import (
    tableaus as tableaus,
)
from manip_dyn.integration.methods.taylor import (
    Series as Series,
)
from manip_dyn.integration.methods.taylor import (
    Taylor as Taylor,
)
from manip_dyn.integration.methods.template_parameters import rhs as rhs
from manip_dyn.integration.settings import (
    Events as Events,
)
from manip_dyn.integration.settings import (
    Jacobian as Jacobian,
)
from manip_dyn.integration.settings import (
    Sampling as Sampling,
)
from manip_dyn.integration.settings import (
    StepControl as StepControl,
)
from manip_dyn.integration.solver import (
    Problem as Problem,
)
from manip_dyn.integration.solver import (
    Solution as Solution,
)
from manip_dyn.integration.solver import (
    integrate as integrate,
)
from manip_dyn.integration.solver import (
    problem as problem,
)
from manip_dyn.integration.time_loop import (
    restart as restart,
)
from manip_dyn.integration.user_functions import (
    right_hand_side as right_hand_side,
)

__all__ = [
    "ALIASES",
    "Adams",
    "Engine",
    "Events",
    "Jacobian",
    "METHODS",
    "Method",
    "Options",
    "Problem",
    "RightHandSide",
    "Rosenbrock",
    "RosenbrockTableau",
    "RungeKutta",
    "Sampling",
    "Series",
    "Solution",
    "Space",
    "Statistics",
    "Status",
    "StepControl",
    "Tableau",
    "Taylor",
    "compile_engine",
    "euler_trapezoidal",
    "integrate",
    "order_for",
    "order_four",
    "problem",
    "restart",
    "right_hand_side",
    "rk4_step",
    "tableaus",
    "w_method",
]
