"""The law integrated along a path, and what is kept of it."""
