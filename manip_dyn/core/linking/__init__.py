"""Programs that are compiled once, and linked with the functions that differ."""
