"""Models of mechanisms in Python or YAML: bodies, joints, forces, linearization, geometry."""
