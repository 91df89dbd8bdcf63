"""The nodes, and programs that write their parameter tables and their access policy."""
