"""Measurements of a run from its topics: logs without dependence on ROS, and monitors."""
