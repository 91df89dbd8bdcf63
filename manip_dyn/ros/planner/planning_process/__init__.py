"""Planning process, with its tasks and results; independent of ROS."""
