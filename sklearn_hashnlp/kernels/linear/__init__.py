"""Linear models: scores and gradients of a linear layer, support vector machines, sparse products."""
