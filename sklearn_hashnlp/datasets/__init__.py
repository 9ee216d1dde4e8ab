"""Texts and labels from files or from Python's standard library, and paragraphs."""

from sklearn_hashnlp._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
