"""How topics are kept: what a late joiner still gets, and what a slow listener misses."""

from __future__ import annotations

from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy

LATCHED = QoSProfile(
    depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE
)
EVERY_MESSAGE = QoSProfile(depth=2000, reliability=ReliabilityPolicy.RELIABLE)
QUEUE = QoSProfile(depth=100, reliability=ReliabilityPolicy.RELIABLE)
NEWEST_ONLY = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)
"""For a loop that is closed over topics, where a queue would be a delay."""
