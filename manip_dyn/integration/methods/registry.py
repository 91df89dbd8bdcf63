"""The registry of integration methods.

Add the key of a new tableau to `_FIXED` or `_EMBEDDED`, and the methods of a new family to
`_ALL`. All lists of methods are derived from `METHODS`.
"""

from __future__ import annotations

from types import MappingProxyType

from manip_dyn.integration.methods.adams import Adams
from manip_dyn.integration.methods.method import Method
from manip_dyn.integration.methods.rosenbrock import Rosenbrock
from manip_dyn.integration.methods.rosenbrock_tableaus import order_four, rodas5p, w_method
from manip_dyn.integration.methods.runge_kutta import RungeKutta
from manip_dyn.integration.methods.tableaus import euler_trapezoidal
from manip_dyn.integration.methods.taylor import Taylor

_FIXED = ("rk1", "rk2", "rk2_heun", "rk3", "rk4", "rk5", "rk6", "rk7", "rk8", "rk10")
_EMBEDDED = (
    *("rkf12", "rkf23", "rkf34", "rkf45", "rkf56", "rkf78"),
    *("rkv56", "rkv67", "rkv78"),
    *("rkb12", "rkb24", "rkb34", "rkb45", "rkb56"),
    *("rkdp54", "rkdp87"),
)
_ALL: tuple[Method, ...] = (
    *(RungeKutta.of(key) for key in (*_FIXED, *_EMBEDDED)),
    Taylor("taylor"),
    RungeKutta("euler_trapezoidal", euler_trapezoidal()),
    Adams("ab4", corrected=False),
    Adams("abm4", corrected=True),
    Rosenbrock("rosenbrock_nystrom", order_four()),
    Rosenbrock("rosenbrock_w", w_method(), w=True),
    Rosenbrock("rodas5p", rodas5p()),
)

ALIASES = MappingProxyType({"euler": "rk1"})
_BY_NAME = {method.name: method for method in _ALL}
METHODS = MappingProxyType(_BY_NAME | {alias: _BY_NAME[name] for alias, name in ALIASES.items()})
"""Methods by name, in the order of families, then aliases."""
