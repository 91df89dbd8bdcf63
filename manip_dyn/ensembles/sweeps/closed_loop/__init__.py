"""Closed-loop execution of a plan on an arm that differs from its model."""
