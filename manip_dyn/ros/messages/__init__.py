"""Conversions between messages and arrays."""
