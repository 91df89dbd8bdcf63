"""Between messages and arrays."""
