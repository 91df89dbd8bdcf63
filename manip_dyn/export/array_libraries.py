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
    """Functions of an array library that kernels require.

    Attributes:
        array: Converts an argument to an array, given its name, its value and its size k. The
            caller checks the shape (..., k).
        broadcast: Returns the common shape of several shapes.
        broadcast_to: Broadcasts an array to a shape.
        concatenate: Concatenates arrays along their last axis.
        call: Evaluates a function of one vector, y (..., m), for x (..., k).
        error: The exception that `broadcast` raises for incompatible shapes.
    """

    array: Callable[[str, Any, int], Any]
    broadcast: Callable[..., Shape]
    broadcast_to: Callable[[Any, Shape], Any]
    concatenate: Callable[[list[Any]], Any]
    call: Callable[[VectorFunction, Any], Any]
    error: type[Exception]


def library_function(function: VectorFunction, library: Library) -> Callable[..., Any]:
    """Return a kernel as a function of arrays (..., size) of a library, one per argument."""
    kernel, sizes, shape = function.kernel, arguments_of(function), shape_of(function)

    def call(*arguments: Any) -> Any:
        if len(arguments) != len(sizes):
            raise ManipDynError(
                f"Arguments of {kernel} must be {', '.join(sizes)}, got {len(arguments)} "
                "argument(s)."
            )
        arrays = []
        for (name, size), argument in zip(sizes.items(), arguments, strict=True):
            arrays.append(library.array(name, argument, size))
            _check_size(name, arrays[-1].shape, size)
        try:
            states = library.broadcast(*(array.shape[:-1] for array in arrays))
        except library.error as error:
            raise ManipDynError(
                f"Arguments of {kernel} must have shapes that broadcast: {error}."
            ) from None
        stretched = [library.broadcast_to(x, (*states, x.shape[-1])) for x in arrays]
        result = library.call(function, library.concatenate(stretched))
        return result.reshape(*states, *shape)

    call.__name__ = call.__qualname__ = kernel
    call.__doc__ = f"Return {kernel} of '{function.robot.name}' for {', '.join(sizes)}."
    return call


def type_error(name: str, argument: Any, size: int) -> ManipDynError:
    """Return the error for an argument that is not an array of real numbers."""
    return ManipDynError(f"{name} must be numbers (..., {size}), got {str(argument)[:80]!r}.")


def _check_size(name: str, shape: Sequence[int], size: int) -> None:
    if not shape or shape[-1] != size:
        raise ManipDynError(f"{name} must have shape (..., {size}), got {tuple(shape)}.")


def torch_function(robot: Robot, kernel: str, frame: str | None = None) -> Callable[..., Any]:
    """Return a kernel as a function of PyTorch tensors, for `backward`, `func.vmap` and others.

    The arguments are those of the kernel, with shapes (..., size): tensors in double precision on
    the CPU, or objects that can be converted, such as lists. Leading axes are broadcast. The
    result has the shape (..., *shape), where `shape` is that of the kernel's result. The function
    executes machine code from the generator of `customize`, with many states in SIMD lanes. Its
    reverse and forward derivatives of any order are exact and compiled on first use. Dry friction
    of the joints is omitted.

    Args:
        robot: A robot returned by `load_robot`.
        kernel: Name of a kernel, see `Kernels`, or ``gravity``.
        frame: Name of the link for pose and Jacobian. Default: the tool, `robot.tip`.

    Raises:
        ManipDynError: If the kernel or the link is unknown, the robot has too many joints for the
            kernel, or PyTorch is not installed. The returned function raises it for a wrong number
            of arguments, and for arguments with an unsupported type, device or shape.
    """
    function = checked_vector_function(robot, kernel, frame)
    torch = required_module("torch", "torch_function needs", "torch")
    from manip_dyn.export.torch_autograd import call

    def tensor(name: str, argument: Any, size: int) -> Any:
        if not isinstance(argument, torch.Tensor):
            try:
                argument = torch.as_tensor(argument, dtype=torch.float64)
            except (TypeError, ValueError, RuntimeError) as error:
                raise type_error(name, argument, size) from error
        if argument.dtype != torch.float64 or argument.device.type != "cpu":
            raise ManipDynError(
                f"{name} must be torch.float64 on cpu, got {argument.dtype} on {argument.device}."
            )
        return argument

    library = Library(
        array=tensor,
        broadcast=torch.broadcast_shapes,
        broadcast_to=torch.broadcast_to,
        concatenate=lambda tensors: torch.cat(tensors, dim=-1),
        call=call,
        error=RuntimeError,
    )
    return library_function(function, library)


def jax_function(robot: Robot, kernel: str, frame: str | None = None) -> Callable[..., Any]:
    """Return a kernel as a function of JAX arrays, for `jit`, `vmap`, `grad` and others.

    The arguments are those of the kernel, with shapes (..., size). Leading axes are broadcast. The
    result has the shape (..., *shape), where `shape` is that of the kernel's result. It is in
    double precision, which requires ``jax.config.update("jax_enable_x64", True)``. The function
    executes machine code from the generator of `customize` on the CPU, with many states in SIMD
    lanes. Its forward and reverse derivatives of any order are exact and compiled on first use.
    Dry friction of the joints is omitted.

    Args:
        robot: A robot returned by `load_robot`.
        kernel: Name of a kernel, see `Kernels`, or ``gravity``.
        frame: Name of the link for pose and Jacobian. Default: the tool, `robot.tip`.

    Raises:
        ManipDynError: If the kernel or the link is unknown, the robot has too many joints for the
            kernel, or JAX is not installed. The returned function raises it for a wrong number of
            arguments, for arguments with an unsupported type or shape, and if JAX uses single
            precision.
    """
    function = checked_vector_function(robot, kernel, frame)
    jax = required_module("jax", "jax_function needs", "jax")
    from manip_dyn.export.jax_primitives import call

    numpy = jax.numpy

    def array(name: str, argument: Any, size: int) -> Any:
        if not jax.config.jax_enable_x64:
            raise ManipDynError(
                f"{kernel} requires double precision in JAX: call "
                'jax.config.update("jax_enable_x64", True) first.'
            )
        try:
            numbers = numpy.asarray(argument)
            if not numpy.issubdtype(numbers.dtype, numpy.number) or numpy.iscomplexobj(numbers):
                raise TypeError(numbers.dtype)
        except (TypeError, ValueError) as error:
            raise type_error(name, argument, size) from error
        return numbers.astype(numpy.float64)

    library = Library(
        array=array,
        broadcast=numpy.broadcast_shapes,
        broadcast_to=numpy.broadcast_to,
        concatenate=lambda arrays: numpy.concatenate(arrays, axis=-1),
        call=call,
        error=ValueError,
    )
    return library_function(function, library)
