"""Parts of the planner node: the motion that is executed, and what is told of it."""
