"""A node that leaves nothing behind when its set-up is refused."""

from __future__ import annotations

from typing import Any

from rclpy.node import Node


class SetUpNode(Node):
    """Calls `set_up` once the ROS node exists; destroys the node if that raises."""

    def __init__(self, name: str, **options: Any):
        """Create the node `name` with rclpy's node options."""
        super().__init__(name, **options)
        try:
            self.set_up()
        except BaseException:
            self.destroy_node()
            raise

    def set_up(self) -> None:
        """Declare parameters, make publishers and subscriptions, start."""
        raise NotImplementedError
