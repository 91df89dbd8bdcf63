"""Search for extremals near approximate motions."""
