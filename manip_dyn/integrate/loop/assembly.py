"""A time loop from its parts: the loop itself, a method's steps, a motion's functions.

Each is compiled once, and LLVM makes one function of all, see `core.linking`. A method's part
knows the length of the state, the loop does not. With the compiler off all are bound by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from manip_dyn.core.compiled.specialized import specialized
from manip_dyn.core.linking.linked import linked
from manip_dyn.core.plain import PLAIN
from manip_dyn.integrate.loop import stand_ins, time_loop, whole_run
from manip_dyn.integrate.methods.method import Method, Options, Step
from manip_dyn.integrate.steps import numbers
from manip_dyn.integrate.steps import stand_ins as motion

Loop = Callable[..., int]
STEP = ("prepare", "attempt", "interpolate", "close", "adapt")
"""What `time_loop` calls of a method's part."""


def assembled(
    method: Method, options: Options, functions: Mapping[str, Any]
) -> tuple[Loop, Loop, Step]:
    """Return `advance` and `run`, see `Engine`, and the method's part.

    Args:
        method: The method.
        options: What the loop is for.
        functions: The compiled functions ``rhs``, ``signal``, ``act`` and ``jacobian``; None for
            what there is not.
    """
    return (_plain if PLAIN else _linked)(method, options, functions)


def _linked(
    method: Method, options: Options, functions: Mapping[str, Any]
) -> tuple[Loop, Loop, Step]:
    step = method.step(options, method.stand_in, motion.jacobian)
    part = {getattr(stand_ins, name): getattr(step.module, name) for name in STEP}
    if not options.dense:
        part[stand_ins.interpolate] = stand_ins.interpolate
    known = {getattr(numbers, name): value for name, value in _numbers(options, step).items()}
    loop = specialized(time_loop, EVENTS=options.events > 0)
    whole = linked(loop.advance, part | dict(step.fills) | known)
    slots = {name: getattr(motion, name) for name in functions} | {"rhs": method.stand_in}
    advance = linked(whole, {slot: functions[name] or slot for name, slot in slots.items()})
    return advance, linked(whole_run.run, {stand_ins.advance: advance}), step


def _plain(
    method: Method, options: Options, functions: Mapping[str, Any]
) -> tuple[Loop, Loop, Step]:
    step = method.step(options, functions["rhs"], functions["jacobian"])
    bound = {name: functions[name] for name in ("signal", "act") if functions[name]}
    bound |= {name: getattr(step.module, name) for name in STEP}
    known = _numbers(options, step).items()
    bound |= {name: lambda value=value: value for name, value in known}
    bound["EVENTS"] = options.events > 0
    advance = specialized(time_loop, **bound).advance
    return advance, specialized(whole_run, advance=advance).run, step


def _numbers(options: Options, step: Step) -> dict[str, int]:
    """Return what a loop has to know, by the names in `steps.numbers`."""
    return {
        "size": options.size,
        "rate_row": step.module.RATE,
        "event_count": options.events,
        "adaptive": int(options.adaptive),
        "dense": int(options.dense),
        "acts": int(options.acts),
    }
