"""Export of kernels as C source and as functions of PyTorch and JAX."""

from manip_dyn.export.array_libraries import (
    jax_function as jax_function,
)
from manip_dyn.export.array_libraries import (
    torch_function as torch_function,
)
from manip_dyn.export.c99.package import (
    export_c as export_c,
)
from manip_dyn.export.selection import (
    DEFAULT_KERNELS as DEFAULT_KERNELS,
)
from manip_dyn.export.selection import (
    KERNEL_NAMES as KERNEL_NAMES,
)
from manip_dyn.export.selection import (
    straight_kernels as straight_kernels,
)
from manip_dyn.export.vector_functions import (
    vector_function as vector_function,
)
