"""The expression graph: scalars that simplify themselves, and their derivatives."""
