"""Measurements of a run from its topics: logs, which are independent of ROS, and monitors."""
