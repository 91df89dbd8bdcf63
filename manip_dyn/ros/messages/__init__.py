"""Conversions between ROS messages and arrays, schedules or goals."""
