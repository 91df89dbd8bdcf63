"""ROS 2: nodes, their parameters, messages and monitors; the mathematics is in the core."""
