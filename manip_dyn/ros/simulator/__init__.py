"""Parts of the simulator node: which commands count, who sends them, and how the arm is."""
