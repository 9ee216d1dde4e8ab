"""Texts and labels from files, from Python's standard library, or from public data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "fetch_zhang",
    "load_labelled",
    "load_stdlib_docstrings",
    "stream_labelled",
    "stream_paragraphs",
    "stream_wikipedia",
]

if TYPE_CHECKING:
    from sklearn_hashnlp.datasets._fetch_zhang import fetch_zhang
    from sklearn_hashnlp.datasets._labelled import load_labelled, stream_labelled
    from sklearn_hashnlp.datasets._paragraphs import stream_paragraphs
    from sklearn_hashnlp.datasets._stdlib_docstrings import load_stdlib_docstrings
    from sklearn_hashnlp.datasets._wikipedia import stream_wikipedia
else:
    from sklearn_hashnlp._lazy import lazy_names

    __getattr__, __dir__ = lazy_names(
        __name__,
        {
            "_fetch_zhang": ["fetch_zhang"],
            "_labelled": ["load_labelled", "stream_labelled"],
            "_paragraphs": ["stream_paragraphs"],
            "_stdlib_docstrings": ["load_stdlib_docstrings"],
            "_wikipedia": ["stream_wikipedia"],
        },
    )
