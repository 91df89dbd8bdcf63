"""What runs nodes: start and shut-down, workers, pacing."""
