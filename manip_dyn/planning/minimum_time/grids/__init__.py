"""Nearly optimal motions on grids."""
