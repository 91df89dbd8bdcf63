"""Generation of a robot's compiled modules: straight-line kernels, loops and Taylor series."""
