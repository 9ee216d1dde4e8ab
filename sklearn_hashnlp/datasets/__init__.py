"""Texts and labels, from files of your own or from what is already on the machine."""

from sklearn_hashnlp.datasets._labelled import load_labelled
from sklearn_hashnlp.datasets._stdlib_docstrings import load_stdlib_docstrings
from sklearn_hashnlp.datasets._stream_paragraphs import stream_paragraphs
from sklearn_hashnlp.datasets._stream_wikipedia import stream_wikipedia

__all__ = ["load_labelled", "load_stdlib_docstrings", "stream_paragraphs", "stream_wikipedia"]
