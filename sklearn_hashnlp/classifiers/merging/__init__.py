"""Classifiers merged to one: checks, weights, states of optimizers, document frequencies."""
