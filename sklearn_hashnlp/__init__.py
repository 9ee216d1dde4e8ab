"""Vocabulary-free text learning for scikit-learn."""

__version__ = "0.1.0"
