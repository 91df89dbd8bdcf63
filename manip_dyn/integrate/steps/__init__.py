"""One step of each kind of method, compiled; specialized for each right-hand side."""
