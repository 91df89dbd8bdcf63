"""Zero-net-work plans: one switch per joint, straight paths, slew rates and grid search."""
