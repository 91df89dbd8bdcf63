"""The nodes, one a file; each reads messages, calls the core and writes messages."""
