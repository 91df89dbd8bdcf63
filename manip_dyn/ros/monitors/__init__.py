"""What a run did, measured from its topics alone: the logs know no ROS, the monitors feed them."""
