"""A kernel as a function of several arguments: what PyTorch and JAX have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from manip_dyn.core.errors import ManipDynError
from manip_dyn.export.differentiable.vector import Vector, arguments_of, shape_of

Shape = tuple[int, ...]


class Library(NamedTuple):
    """What each library does in its own way.

    Attributes:
        array: Returns what is given under a name, of a size, as an array (..., k) of the library.
        broadcast: Returns the shape that several have in common; raises what is in `misfit`.
        stretched: Returns an array with another shape.
        joined: Returns arrays side by side along their last axis.
        call: Returns y (..., m) of a function of x (..., k).
        misfit: What `broadcast` raises.
    """

    array: Callable[[str, Any, int], Any]
    broadcast: Callable[..., Shape]
    stretched: Callable[[Any, Shape], Any]
    joined: Callable[[list[Any]], Any]
    call: Callable[[Vector, Any], Any]
    misfit: type[Exception]


def wrapped(made: Vector, library: Library) -> Callable[..., Any]:
    """Return a kernel of one vector as a function of its arguments, each (..., size)."""
    kernel, sizes, shape = made.kernel, arguments_of(made), shape_of(made)

    def function(*arguments: Any) -> Any:
        if len(arguments) != len(sizes):
            raise ManipDynError(
                f"{kernel} got {len(arguments)} arguments; expected {', '.join(sizes)}"
            )
        arrays = []
        for (name, size), given in zip(sizes.items(), arguments, strict=True):
            arrays.append(library.array(name, given, size))
            _check_size(name, arrays[-1].shape, size)
        try:
            states = library.broadcast(*(each.shape[:-1] for each in arrays))
        except library.misfit as error:
            raise ManipDynError(
                f"the arguments of {kernel} do not fit together: {error}"
            ) from None
        wide = [library.stretched(each, (*states, each.shape[-1])) for each in arrays]
        return library.call(made, library.joined(wide)).reshape(*states, *shape)

    function.__name__ = function.__qualname__ = kernel
    function.__doc__ = f"Return {kernel} of '{made.robot.name}' for {', '.join(sizes)}."
    return function


def not_numbers(name: str, given: Any, size: int) -> ManipDynError:
    """Return the error of an argument that is no array of real numbers."""
    return ManipDynError(f"{name} is {str(given)[:80]!r}; expected numbers (..., {size})")


def _check_size(name: str, shape: Sequence[int], size: int) -> None:
    if not shape or shape[-1] != size:
        raise ManipDynError(f"{name} has shape {tuple(shape)}; expected (..., {size})")
