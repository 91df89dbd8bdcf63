"""Where generated code is kept, what tells that it still fits, and who waits for whom."""
