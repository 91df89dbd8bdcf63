"""From a robot's equations to its generated modules."""
