"""C text: names, numbers, statements, kernels and series."""
