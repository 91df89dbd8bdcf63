"""The fault matrix: what is done to running nodes, and what is to be seen then."""
