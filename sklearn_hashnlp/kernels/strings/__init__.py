"""Strings as bytes: joined, cut into words and characters, distorted."""
