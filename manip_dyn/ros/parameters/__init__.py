"""Parameters of the nodes: a frozen dataclass per node defines names, ranges and documentation."""
