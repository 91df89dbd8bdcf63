"""What was computed, as motions."""
