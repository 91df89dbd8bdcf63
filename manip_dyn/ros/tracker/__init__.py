"""Parts of the tracker node: the arm that it drives, live targets, what it publishes."""
