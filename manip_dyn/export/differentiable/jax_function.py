"""`jax_function`: a kernel as a function of JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.extras import needed
from manip_dyn.export.differentiable.vector import checked_vector
from manip_dyn.export.differentiable.wrapped import Library, not_numbers, wrapped
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
