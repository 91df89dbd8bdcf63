"""From motions on grids to the fastest extremal that is certified."""
