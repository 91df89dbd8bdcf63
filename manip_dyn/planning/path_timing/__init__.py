"""The fastest timing of a given joint path within limits of speed, acceleration and effort."""
