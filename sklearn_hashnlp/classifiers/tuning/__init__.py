"""Search for good parameters of a text classifier within a time and a size."""
