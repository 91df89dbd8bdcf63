"""`jax_function`: a kernel as a function of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.extras import needed
from manip_dyn.export.differentiable.arguments import check_count, check_size, not_numbers
from manip_dyn.export.differentiable.vector import arguments_of, checked_vector, shape_of
from manip_dyn.robot import Robot


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
    made = checked_vector(robot, kernel, frame)
    jax = needed("jax", "jax_function needs", "jax")
    from manip_dyn.export.differentiable.jax_primitives import call

    numpy, sizes, shape = jax.numpy, arguments_of(made), shape_of(made)

    def checked(name: str, given: Any) -> Any:
        try:
            array = numpy.asarray(given)
            if not numpy.issubdtype(array.dtype, numpy.number) or numpy.iscomplexobj(array):
                raise TypeError(array.dtype)
        except (TypeError, ValueError) as error:
            raise not_numbers(name, given, sizes[name]) from error
        check_size(name, array.shape, sizes[name])
        return array.astype(numpy.float64)

    def function(*arguments: Any) -> Any:
        if not jax.config.jax_enable_x64:
            raise ManipDynError(
                f"JAX computes {kernel} in single precision; expected "
                'jax.config.update("jax_enable_x64", True) before'
            )
        check_count(kernel, sizes, arguments)
        arrays = [checked(*each) for each in zip(sizes, arguments, strict=True)]
        try:
            states = numpy.broadcast_shapes(*(each.shape[:-1] for each in arrays))
        except ValueError as error:
            raise ManipDynError(
                f"the arguments of {kernel} do not fit together: {error}"
            ) from None
        wide = [numpy.broadcast_to(each, (*states, each.shape[-1])) for each in arrays]
        return call(made, numpy.concatenate(wide, axis=-1)).reshape(*states, *shape)

    function.__name__ = function.__qualname__ = kernel
    function.__doc__ = f"Return {kernel} of '{robot.name}' for {', '.join(sizes)}."
    return function
