"""The planning process with its tasks and results. It does not depend on ROS."""
