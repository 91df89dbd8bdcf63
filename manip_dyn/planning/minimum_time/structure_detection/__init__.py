"""Detection of switching structures in approximate motions on grids."""
