"""The nodes' parameters: a frozen dataclass for each node, from which everything else follows."""
