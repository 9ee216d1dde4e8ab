"""Vocabulary-free text learning for scikit-learn.

Its names import their module, and with it scikit-learn or torch, on first use.
"""

from sklearn_hashnlp._lazy import lazy_names

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_names(__name__)
