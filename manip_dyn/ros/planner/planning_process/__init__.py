"""The process that plans, what it is asked and what it answers; no ROS in it."""
