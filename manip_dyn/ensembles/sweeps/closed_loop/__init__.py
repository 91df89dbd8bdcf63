"""A plan executed in closed loop on an arm that is not quite the one that it was made for."""
