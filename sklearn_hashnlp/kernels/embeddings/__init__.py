"""Tables of embeddings: ids hashed to rows, rows summed to bags, rows updated."""
