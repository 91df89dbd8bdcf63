"""Measurements of a run from its topics: monitors, and logs that do not use ROS."""
