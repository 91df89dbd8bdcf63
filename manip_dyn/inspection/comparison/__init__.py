"""One arm as this package and as others have read it, number by number."""
