"""Texts and labels, from files of your own or from what is already on the machine."""

from sklearn_hashnlp.datasets._labelled import load_labelled
from sklearn_hashnlp.datasets._stdlib_docstrings import load_stdlib_docstrings

__all__ = ["load_labelled", "load_stdlib_docstrings"]
