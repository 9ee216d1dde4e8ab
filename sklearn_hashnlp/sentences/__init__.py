"""Sentence encoders; the names load torch on first use."""

from sklearn_hashnlp._lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
