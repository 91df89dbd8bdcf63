"""What SROS2 is told of the nodes."""
