"""Registry of integration methods.

To add a method, add the key of its tableau to `_FIXED` or `_EMBEDDED`, or the methods of a new
family to `_OTHERS`. All lists of methods are derived from `METHODS`. The modules of the families
other than Runge-Kutta are imported when one of their methods is first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from manip_dyn.integration.methods.method import Method
from manip_dyn.integration.methods.runge_kutta import RungeKutta
from manip_dyn.integration.methods.tableaus import euler_trapezoidal

_FIXED = ("rk1", "rk2", "rk2_heun", "rk3", "rk4", "rk5", "rk6", "rk7", "rk8", "rk10")
_EMBEDDED = (
    *("rkf12", "rkf23", "rkf34", "rkf45", "rkf56", "rkf78"),
    *("rkv56", "rkv67", "rkv78"),
    *("rkb12", "rkb24", "rkb34", "rkb45", "rkb56"),
    *("rkdp54", "rkdp87"),
)


def _taylor(name: str) -> Method:
    from manip_dyn.integration.methods.taylor import Taylor

    return Taylor(name)


def _adams(name: str, corrected: bool) -> Method:
    from manip_dyn.integration.methods.adams import Adams

    return Adams(name, corrected=corrected)


def _rosenbrock(name: str, tableau: str, w: bool = False) -> Method:
    from manip_dyn.integration.methods import rosenbrock_tableaus
    from manip_dyn.integration.methods.rosenbrock import Rosenbrock

    return Rosenbrock(name, getattr(rosenbrock_tableaus, tableau)(), w=w)


_OTHERS: Mapping[str, Callable[[str], Method]] = {
    "taylor": _taylor,
    "euler_trapezoidal": lambda name: RungeKutta(name, euler_trapezoidal()),
    "ab4": partial(_adams, corrected=False),
    "abm4": partial(_adams, corrected=True),
    "rosenbrock_nystrom": partial(_rosenbrock, tableau="order_four"),
    "rosenbrock_w": partial(_rosenbrock, tableau="w_method", w=True),
    "rodas5p": partial(_rosenbrock, tableau="rodas5p"),
}
ALIASES = MappingProxyType({"euler": "rk1"})
"""Names of methods by alias."""


class _Registry(Mapping[str, Method]):
    """Methods by name, created on first use."""

    def __init__(self, factories: Mapping[str, Callable[[str], Method]]):
        self._factories = factories
        self._methods: dict[str, Method] = {}

    def __getitem__(self, name: str) -> Method:
        name = ALIASES.get(name, name)
        if name not in self._methods:
            self._methods[name] = self._factories[name](name)
        return self._methods[name]

    def __contains__(self, name: Any) -> bool:
        return name in self._factories or name in ALIASES

    def __iter__(self) -> Iterator[str]:
        return iter((*self._factories, *ALIASES))

    def __len__(self) -> int:
        return len(self._factories) + len(ALIASES)


METHODS: Mapping[str, Method] = _Registry(
    {**dict.fromkeys((*_FIXED, *_EMBEDDED), RungeKutta.of), **_OTHERS}
)
"""Methods by name, followed by aliases."""
