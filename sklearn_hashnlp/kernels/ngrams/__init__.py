"""n-grams: hashed and counted for features, counted and looked up for language models."""
