"""The nodes. Each reads messages, calls the core and publishes messages."""
