"""Node parameters. A frozen dataclass per node defines names, ranges and descriptions."""
