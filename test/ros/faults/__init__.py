"""The fault matrix: faults of running nodes and their expected outcomes."""
