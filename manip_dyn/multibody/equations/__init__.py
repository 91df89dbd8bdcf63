"""The equations of motion, compiled: constraints, forces, the independent coordinates."""
