"""The time loop that all methods share: its memory, its stops, its search for events."""
