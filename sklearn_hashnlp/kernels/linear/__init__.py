"""Linear models: scores and gradients, support vector machines, sparse products."""
