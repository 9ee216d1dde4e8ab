"""Sparse rows projected on random hyperplanes."""
