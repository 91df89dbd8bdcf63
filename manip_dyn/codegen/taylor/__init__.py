"""Taylor series of a robot's motion, by recurrences from the expression graph."""
