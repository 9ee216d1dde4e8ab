"""Tools that look into hash functions and models."""
