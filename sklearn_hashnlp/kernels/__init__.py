"""Numba kernels: arrays in, arrays out, no policy."""
