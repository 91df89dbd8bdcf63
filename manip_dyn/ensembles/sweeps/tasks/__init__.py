"""What a sweep of a file can do with its cases, by name."""
