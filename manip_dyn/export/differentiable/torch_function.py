"""`torch_function`: a kernel as a function of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manip_dyn.core.errors import ManipDynError
from manip_dyn.core.extras import needed
from manip_dyn.export.differentiable.vector import checked_vector
from manip_dyn.export.differentiable.wrapped import Library, not_numbers, wrapped
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
