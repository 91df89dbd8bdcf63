"""`torch_function` and `jax_function`: kernels as functions of PyTorch and JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.imports import required_module
from manip_dyn.export.vector_functions import (
    VectorFunction,
    arguments_of,
    checked_vector_function,
    shape_of,
)
from manip_dyn.robot import Robot

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
    call: Callable[[VectorFunction, Any], Any]
    misfit: type[Exception]


def wrapped(made: VectorFunction, library: Library) -> Callable[..., Any]:
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


def torch_function(robot: Robot, kernel: str, frame: str | None = None) -> Callable[..., Any]:
    """Return a kernel as a function of PyTorch's tensors, for `backward`, `func.vmap` and so on.

    It takes the kernel's arguments, each with the shape (..., size), and returns (..., shape of
    the result): tensors in double precision on the CPU, or what becomes one, such as lists. It
    runs the same machine code as `customize`, many states in SIMD lanes. Its derivatives, reverse
    and forward, of any order, are exact and compiled, too, when they are first asked for. The dry
    friction of joints is left out.

    Args:
        robot: From `load_robot`.
        kernel: The name of a kernel, see `Kernels`, or ``gravity``.
        frame: The link whose pose and Jacobian are meant; default: the tool, `robot.tip`.

    Raises:
        ManipDynError: For an unknown kernel or link, a kernel in loops, or without PyTorch; from
            the function for tensors of another type, on another device, or that do not fit.
    """
    made = checked_vector_function(robot, kernel, frame)
    torch = required_module("torch", "torch_function needs", "torch")
    from manip_dyn.export.torch_autograd import call

    def tensor(name: str, given: Any, size: int) -> Any:
        if not isinstance(given, torch.Tensor):
            try:
                given = torch.as_tensor(given, dtype=torch.float64)
            except (TypeError, ValueError, RuntimeError) as error:
                raise not_numbers(name, given, size) from error
        if given.dtype != torch.float64 or given.device.type != "cpu":
            raise ManipDynError(
                f"{name} is {given.dtype} on {given.device}; expected torch.float64 on the cpu"
            )
        return given

    library = Library(
        array=tensor,
        broadcast=torch.broadcast_shapes,
        stretched=torch.broadcast_to,
        joined=lambda tensors: torch.cat(tensors, dim=-1),
        call=call,
        misfit=RuntimeError,
    )
    return wrapped(made, library)


def jax_function(robot: Robot, kernel: str, frame: str | None = None) -> Callable[..., Any]:
    """Return a kernel as a function of JAX arrays, for `jit`, `vmap`, `grad` and their like.

    It takes the kernel's arguments, each with the shape (..., size), and returns (..., shape of
    the result) in double precision, which JAX must be told to use:
    ``jax.config.update("jax_enable_x64", True)``. It calls the same machine code as `customize`,
    many states in SIMD lanes, on the CPU. Its derivatives, forward and reverse, of any order, are
    exact and compiled, too, when they are first asked for. The dry friction of joints is left
    out.

    Args:
        robot: From `load_robot`.
        kernel: The name of a kernel, see `Kernels`, or ``gravity``.
        frame: The link whose pose and Jacobian are meant; default: the tool, `robot.tip`.

    Raises:
        ManipDynError: For an unknown kernel or link, a kernel in loops, or without JAX; from the
            function for shapes that do not fit, or while JAX computes in single precision.
    """
    made = checked_vector_function(robot, kernel, frame)
    jax = required_module("jax", "jax_function needs", "jax")
    from manip_dyn.export.jax_primitives import call

    numpy = jax.numpy

    def array(name: str, given: Any, size: int) -> Any:
        if not jax.config.jax_enable_x64:
            raise ManipDynError(
                f"JAX computes {kernel} in single precision; expected "
                'jax.config.update("jax_enable_x64", True) before'
            )
        try:
            found = numpy.asarray(given)
            if not numpy.issubdtype(found.dtype, numpy.number) or numpy.iscomplexobj(found):
                raise TypeError(found.dtype)
        except (TypeError, ValueError) as error:
            raise not_numbers(name, given, size) from error
        return found.astype(numpy.float64)

    library = Library(
        array=array,
        broadcast=numpy.broadcast_shapes,
        stretched=numpy.broadcast_to,
        joined=lambda arrays: numpy.concatenate(arrays, axis=-1),
        call=call,
        misfit=ValueError,
    )
    return wrapped(made, library)
