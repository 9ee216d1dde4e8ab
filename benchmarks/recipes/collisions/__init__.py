"""Colliding words of hash embeddings, counted and by formula."""
