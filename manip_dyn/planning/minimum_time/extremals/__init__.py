"""Motions that meet the conditions of minimum time, found from their structure."""
