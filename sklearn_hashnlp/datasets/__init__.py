"""Texts and labels from files, from Python's standard library, or from public data sets."""

from sklearn_hashnlp._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
