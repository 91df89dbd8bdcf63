"""Functions that are compiled when they are first called, and kept as machine code on disk."""
