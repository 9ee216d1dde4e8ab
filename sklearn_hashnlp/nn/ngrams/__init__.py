"""Hashed n-grams of token ids: embeddings for the layers of a sequence model."""
