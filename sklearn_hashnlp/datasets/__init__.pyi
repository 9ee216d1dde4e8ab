from sklearn_hashnlp.datasets._labelled import load_labelled, stream_labelled
from sklearn_hashnlp.datasets._paragraphs import stream_paragraphs
from sklearn_hashnlp.datasets._stdlib_docstrings import load_stdlib_docstrings
from sklearn_hashnlp.datasets._text_reader import TextReader
from sklearn_hashnlp.datasets._wikipedia import stream_wikipedia

__all__ = [
    "TextReader",
    "load_labelled",
    "load_stdlib_docstrings",
    "stream_labelled",
    "stream_paragraphs",
    "stream_wikipedia",
]
