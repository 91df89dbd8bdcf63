"""The nodes, one per file. Each reads messages, calls the core and publishes messages."""
