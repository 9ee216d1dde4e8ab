"""A small transformer with and without hashed n-grams."""
