"""The recipes of published experiments."""
