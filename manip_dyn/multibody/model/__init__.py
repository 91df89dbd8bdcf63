"""Models of mechanisms: bodies, joints and forces in Python or YAML, linearization, geometry."""
