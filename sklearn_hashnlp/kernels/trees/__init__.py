"""The hierarchical softmax: forward and backward pass along a tree, hashed features, search."""
