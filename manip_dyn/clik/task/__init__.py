"""The task: poses, twists and the error between two poses."""
