"""The nodes. Each node receives messages, calls the core and publishes messages."""
