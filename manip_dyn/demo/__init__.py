"""`manip_dyn demo`: the nodes of a scenario, started, measured and stopped without ros2 launch."""
