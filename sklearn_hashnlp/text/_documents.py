"""Whatever a user hands in as documents, checked in one place and packed for the kernels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from sklearn_hashnlp.kernels import Ragged, Texts

_SHOWN = 40  # characters of a text in the message


def refuse_texts(X: Any, *, caller: str, makes_rows: str) -> None:
    """Refuse a column of texts; whatever else ``X`` is, is left to scikit-learn's checks."""
    shape = getattr(X, "shape", None)
    if not isinstance(X, Collection) or issparse(X) or (isinstance(shape, tuple) and len(shape) != 1):
        return
    first = next(iter(X), None)
    if isinstance(first, str):
        shown = repr(first) if len(first) <= _SHOWN else f"{first[:_SHOWN]!r}..."
        raise ValueError(
            f"{caller} takes rows of numbers, got texts, the first of them {shown}. Put what makes rows of them before "
            f"it, as in {makes_rows}."
        )


# How many characters of documents make a chunk: so many that threads seldom wait for each other, so few that what is
# made of them fits the processor's cache. Characters give several times as many n-grams as words.
WORD_CHUNK, CHARACTER_CHUNK = 2**19, 2**18

_FEW_DOCUMENTS = 128


def check_column(X: Any, *, caller: str) -> None:
    """Refuse what cannot be a column of documents, without reading any of them."""
    if isinstance(X, str | bytes):
        kind = "string" if isinstance(X, str) else "bytes"
        raise ValueError(
            f"Iterable over raw text documents expected, {kind} object received. "
            f"Wrap it in a list: {caller}().transform([text])."
        )
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1:
        raise ValueError(
            f"{caller} expects one column of documents, got a {type(X).__name__} of shape {shape}. "
            "Hand in the column with the texts, such as X['text'] of a data frame or X[:, 0] of an array."
        )
    if not isinstance(X, Iterable):
        raise TypeError(
            f"{caller} expects an iterable over documents, such as a list of str, got {X!r} ({type(X).__name__})."
        )


def as_documents(X: Any, *, caller: str) -> Iterable[Any]:
    """Return the documents of a list, tuple, generator, array or data-frame column, one after the other."""
    check_column(X, caller=caller)
    # numpy, then pandas and polars, then Arrow: each names its list of plain Python objects differently.
    for to_list in ("tolist", "to_list", "to_pylist"):
        if hasattr(X, to_list):
            documents: list[Any] = getattr(X, to_list)()
            return documents
    return cast(Iterable[Any], X)


def in_chunks(documents: Iterable[Any], *, n_characters: int) -> Iterator[tuple[int, list[Any]]]:
    """Return the documents in lists that are worth a call to a kernel, each with the position of its first one."""
    first = size = 0
    chunk: list[Any] = []
    iterator = iter(documents)
    while few := list(islice(iterator, _FEW_DOCUMENTS)):
        chunk += few
        # The sizes of open files and of what is no document at all are not known.
        size += sum(map(len, few)) if set(map(type, few)) <= {str, bytes} else n_characters
        if size >= n_characters:
            yield first, chunk
            first, size, chunk = first + len(chunk), 0, []
    if chunk:
        yield first, chunk


def plain_text(document: Any, *, position: int, caller: str, wanted: str = "str") -> str:
    """Return one document as a plain ``str``, or refuse it."""
    if isinstance(document, str):
        return str.__str__(document)
    is_nan = isinstance(document, float) and document != document
    if document is None or is_nan or type(document).__name__ == "NAType":
        advice = "Missing texts have to go first: drop those rows or put '' in their place."
    elif isinstance(document, bytes):
        advice = "Documents have to be decoded first: document.decode('utf-8')."
    else:
        advice = "Documents have to become texts first: [str(document) for document in X]."
    shown = repr(document)
    message = (
        f"{caller} expects documents of type {wanted}, but document {position} is "
        f"{shown if len(shown) <= 40 else shown[:37] + '...'} ({type(document).__name__}). {advice}"
    )
    raise ValueError(message) if is_nan else TypeError(message)


def plain_texts(chunk: list[Any], *, first: int, caller: str) -> list[str]:
    """Return documents as plain ``str``, or refuse the first that is none."""
    if set(map(type, chunk)) == {str}:
        return chunk
    return [plain_text(text, position=position, caller=caller) for position, text in enumerate(chunk, first)]


def pack(
    documents: Sequence[str],
    *,
    lowercase: bool,
    preprocess: Callable[[str], str] | None,
    check_surrogates: Callable[[int, str], None],
    max_characters: int,
) -> Iterator[Texts]:
    """Pack documents into UTF-8 buffers."""
    lengths = np.fromiter(map(len, documents), dtype=np.int64, count=len(documents))
    pieces = [(0, len(documents))]
    while pieces:
        start, stop = pieces.pop()
        if stop - start > 1 and lengths[start:stop].sum() > max_characters:
            middle = (start + stop) // 2
            pieces += [(middle, stop), (start, middle)]
        else:
            yield _pack(documents[start:stop], lengths[start:stop], start, lowercase, preprocess, check_surrogates)


def _pack(
    documents: Sequence[str],
    lengths: NDArray[np.int64],
    first: int,
    lowercase: bool,
    preprocess: Callable[[str], str] | None,
    check_surrogates: Callable[[int, str], None],
) -> Texts:
    joined = "\n".join(documents) + "\n"
    if joined.isascii():
        buffer = joined.encode("ascii")
        is_ascii = np.ones(len(documents), dtype=np.bool_)
    else:
        is_ascii = np.fromiter(map(str.isascii, documents), dtype=np.bool_, count=len(documents))
        if preprocess is not None:
            documents = [
                document if plain else preprocess(document)
                for document, plain in zip(documents, is_ascii.tolist(), strict=True)
            ]
        encoded = [_encode(index, document, check_surrogates) for index, document in enumerate(documents, first)]
        buffer = b"\n".join(encoded) + b"\n"
        lengths = np.fromiter(map(len, encoded), dtype=np.int64, count=len(documents))
    offsets = np.zeros(len(documents) + 1, dtype=np.int64)
    np.cumsum(lengths + 1, out=offsets[1:])
    return Texts(Ragged(np.frombuffer(buffer, dtype=np.uint8), offsets), is_ascii, lowercase)


def _encode(index: int, document: str, check_surrogates: Callable[[int, str], None]) -> bytes:
    try:
        return document.encode("utf-8")
    except UnicodeEncodeError:
        check_surrogates(index, document)
        return document.encode("utf-8", "surrogatepass")


def check_encodable(ngrams: Iterable[str], *, position: int, caller: str) -> None:
    """Refuse a document of which UTF-8 cannot encode an n-gram."""
    for ngram in ngrams:
        try:
            ngram.encode("utf-8")
        except UnicodeEncodeError as error:
            raise surrogate_error(caller, position, error) from error


def surrogate_error(caller: str, position: int, error: UnicodeEncodeError) -> ValueError:
    """Make the message for a document that UTF-8 cannot encode."""
    return ValueError(
        f"{caller}: document {position} holds the lone surrogate {error.object[error.start]!r} inside the n-gram "
        f"{error.object!r}, which UTF-8 cannot encode. Repair it with "
        "text.encode('utf-8', 'replace').decode('utf-8')."
    )
