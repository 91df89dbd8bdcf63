"""The planning process with its tasks and results. The process is not a ROS node."""
