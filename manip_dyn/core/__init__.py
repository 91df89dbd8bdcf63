"""What every layer stands on: compiled functions, and where their machine code is kept."""
