"""`torch_function`: a kernel as a function of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.extras import needed
from manip_dyn.export.differentiable.arguments import check_count, check_size, not_numbers
from manip_dyn.export.differentiable.vector import arguments_of, checked_vector, shape_of
from manip_dyn.robot import Robot


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
    made = checked_vector(robot, kernel, frame)
    torch = needed("torch", "torch_function needs", "torch")
    from manip_dyn.export.differentiable.torch_autograd import call

    sizes, shape = arguments_of(made), shape_of(made)

    def checked(name: str, given: Any) -> Any:
        if not isinstance(given, torch.Tensor):
            try:
                given = torch.as_tensor(given, dtype=torch.float64)
            except (TypeError, ValueError, RuntimeError) as error:
                raise not_numbers(name, given, sizes[name]) from error
        if given.dtype != torch.float64 or given.device.type != "cpu":
            raise ManipDynError(
                f"{name} is {given.dtype} on {given.device}; expected torch.float64 on the cpu"
            )
        check_size(name, given.shape, sizes[name])
        return given

    def function(*arguments: Any) -> Any:
        check_count(kernel, sizes, arguments)
        tensors = [checked(name, each) for name, each in zip(sizes, arguments, strict=True)]
        try:
            states = torch.broadcast_shapes(*(each.shape[:-1] for each in tensors))
        except RuntimeError as error:
            raise ManipDynError(
                f"the arguments of {kernel} do not fit together: {error}"
            ) from None
        wide = [each.expand(*states, each.shape[-1]) for each in tensors]
        return call(made, torch.cat(wide, dim=-1)).reshape(*states, *shape)

    function.__name__ = function.__qualname__ = kernel
    function.__doc__ = f"Return {kernel} of '{robot.name}' for {', '.join(sizes)}."
    return function
