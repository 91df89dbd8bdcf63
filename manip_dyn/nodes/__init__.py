"""Thin ROS 2 nodes: read a message, call the core, write a message."""
