"""Conversions between ROS messages and arrays."""
