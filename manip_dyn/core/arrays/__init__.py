"""Memory in compiled code: parts of arrays, and what lies at an address."""
