"""Modules of the tracker node: modes, targets, topics and diagnostic states."""
