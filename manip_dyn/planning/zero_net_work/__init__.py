"""Zero net work: one switch per joint, the straight path, slew rates, the thesis's grid search."""
