"""Strings reversed by a network with a full softmax or a tree."""
