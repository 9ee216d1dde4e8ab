"""Tools that inspect hash functions and models."""
