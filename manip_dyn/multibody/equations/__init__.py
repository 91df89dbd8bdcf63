"""Compiled equations of motion: primitives, constraints, forces, partition, state space."""
