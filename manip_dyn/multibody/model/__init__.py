"""What a mechanism is: bodies, joints and forces, in Python or in YAML, checked."""
