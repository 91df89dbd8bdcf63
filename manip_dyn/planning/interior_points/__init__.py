"""Fast motions on grids of positions or control points, by interior points."""
