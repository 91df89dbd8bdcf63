"""What a method is, the families of methods, and the registry of all."""
