"""Check documents of any type, split them into chunks, and pack them for the kernels."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, cast

import numpy as np
from scipy.sparse import issparse

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.strings._join_lines import join_lines
from sklearn_hashnlp.kernels.strings._units import Texts

# Characters per chunk of documents: enough that threads rarely wait for each other, few enough that
# its n-grams fit into the processor's cache. There are several times as many character n-grams as
# word n-grams.
WORD_CHUNK, CHARACTER_CHUNK = 2**19, 2**18

_STEP = 128  # number of documents read at once
_MAX_SHOWN = 40  # maximum length of a text in a message
_NAN_DOCUMENT = "np.nan is an invalid document, expected byte or unicode string."


def check_column(X: Any, *, caller: str) -> None:
    """Raise an error if ``X`` cannot be a column of documents, without reading them."""
    if isinstance(X, str | bytes):
        kind = "string" if isinstance(X, str) else "bytes"
        raise ValueError(
            f"Iterable over raw text documents expected, {kind} object received. {caller} takes "
            "several texts: wrap a single one in a list, [text]."
        )
    shape = getattr(X, "shape", None)
    if isinstance(shape, tuple) and len(shape) != 1 and (issparse(X) or shape[1:] != (1,)):
        raise ValueError(
            f"{caller} expects one column of documents, got a {type(X).__name__} of shape {shape}. "
            "Pass the column with the texts, such as X['text'] of a data frame or X[:, 0] of an "
            "array."
        )
    # an Arrow table is not iterable
    if not isinstance(X, Iterable) and not hasattr(X, "to_pylist"):
        raise TypeError(
            f"{caller} expects an iterable over documents, such as a list of str, got {X!r} "
            f"({type(X).__name__})."
        )


def as_documents(X: Any, *, caller: str) -> Iterable[Any]:
    """Return the documents of any iterable, column or one-column data frame as an iterable."""
    check_column(X, caller=caller)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        X = X[:, 0]
    elif len(getattr(X, "shape", ())) == 2:
        # An attribute of a pandas frame may be one of its columns, an attribute of its type is not.
        X = X.column(0) if hasattr(type(X), "column") else X[X.columns[0]]
    return cast(Iterable[Any], as_plain_list(X))


def as_plain_list(column: Any) -> Any:
    """Return the elements of an array or a column as a list, and anything else as it is."""
    # The methods of numpy, of pandas and polars, and of Arrow.
    for to_list in ("tolist", "to_list", "to_pylist"):
        if hasattr(type(column), to_list):
            return getattr(column, to_list)()
    return column


def in_chunks(documents: Iterable[Any], *, n_characters: int) -> Iterator[tuple[int, list[Any]]]:
    """Yield chunks of documents of about ``n_characters`` with the index of the first document."""
    first = size = 0
    chunk: list[Any] = []
    iterator = iter(documents)
    while documents_read := list(islice(iterator, _STEP)):
        chunk += documents_read
        # The sizes of open files, and of invalid documents, are unknown.
        size += (
            sum(map(len, documents_read))
            if set(map(type, documents_read)) <= {str, bytes}
            else n_characters
        )
        if size >= n_characters:
            yield first, chunk
            first = first + len(chunk)
            size = 0
            chunk = []
    if chunk:
        yield first, chunk


def plain_text(document: Any, *, position: int, caller: str, wanted: str = "str") -> str:
    """Return a document as a plain ``str``, or raise an error with advice."""
    if isinstance(document, str):
        return str.__str__(document)
    is_nan = isinstance(document, float) and document != document
    if document is None or is_nan or type(document).__name__ == "NAType":
        advice = "Drop or replace missing texts first, for example by ''."
    elif isinstance(document, bytes):
        advice = "Decode documents first: document.decode('utf-8')."
    elif isinstance(document, list | tuple | np.ndarray):
        advice = "Pass one text for each row, such as [row[0] for row in X]."
    else:
        advice = "Convert documents to str first: [str(document) for document in X]."
    shown = repr(document)
    shown = shown if len(shown) <= _MAX_SHOWN else f"{shown[: _MAX_SHOWN - 3]}..."
    message = (
        f"{caller} expects documents of type {wanted}, but document {position} is {shown} "
        f"({type(document).__name__}). {advice}"
    )
    # Start with the message of scikit-learn's HashingVectorizer, which programs may match.
    raise ValueError(f"{_NAN_DOCUMENT} {message}") if is_nan else TypeError(message)


def plain_texts(
    chunk: list[Any], *, caller: str, first: int = 0, decode: tuple[str, str] | None = None
) -> list[str]:
    """Return documents as plain ``str``, decoding bytes with ``decode``, or raise an error."""
    if set(map(type, chunk)) == {str}:
        return chunk
    texts, wanted = [], "str" if decode is None else "bytes or str"
    for position, text in enumerate(chunk, first):
        try:
            text = text.decode(*decode) if decode is not None and isinstance(text, bytes) else text
        except UnicodeDecodeError as error:
            error.add_note(f"{caller}: this happened at document {position}.")
            raise
        texts.append(plain_text(text, position=position, caller=caller, wanted=wanted))
    return texts


def encoder(
    documents: Sequence[str],
    *,
    around: tuple[str, str] = ("", ""),
    preprocess: Callable[[str], str] | None = None,
    check_surrogates: Callable[[int, str], None] | None = None,
) -> Callable[[int], bytes]:
    """Return the function that preprocesses and encodes an indexed document within ``around``."""
    begin, end = around

    def encode(index: int) -> bytes:
        document = f"{begin}{documents[index]}{end}"
        document = document if preprocess is None else preprocess(document)
        try:
            return document.encode()
        except UnicodeEncodeError:
            if check_surrogates is not None:
                check_surrogates(index, document)
            return document.encode("utf-8", "surrogatepass")

    return encode


def pack(
    documents: Sequence[str],
    encode: Callable[[int], bytes],
    *,
    around: tuple[str, str] = ("", ""),
    lowercase: bool,
    max_characters: int,
) -> Iterator[Texts]:
    """Pack documents into UTF-8 buffers of about ``max_characters``, with their :func:`encoder`."""
    slices = [(0, len(documents))]
    while slices:
        start, stop = slices.pop()
        if stop - start > 1 and sum(map(len, islice(documents, start, stop))) > max_characters:
            middle = (start + stop) // 2
            slices += [(middle, stop), (start, middle)]
        else:
            lines = join_lines(
                list(documents[start:stop]), around, partial(_encode_later, encode, start)
            )
            yield Texts(Ragged(lines.buffer, lines.offsets), lines.is_ascii, lowercase)


def _encode_later(encode: Callable[[int], bytes], start: int, index: int) -> bytes:
    return encode(start + index)


def check_encodable(ngrams: Iterable[str], *, position: int, caller: str) -> None:
    """Raise an error for a document with an n-gram that UTF-8 cannot encode."""
    for ngram in ngrams:
        try:
            ngram.encode("utf-8")
        except UnicodeEncodeError as error:
            raise surrogate_error(caller, position, error) from error


def surrogate_error(caller: str, position: int, error: UnicodeEncodeError) -> ValueError:
    """Return the error for a document that UTF-8 cannot encode."""
    return ValueError(
        f"{caller}: document {position} holds the lone surrogate {error.object[error.start]!r} "
        f"inside the n-gram {error.object!r}, which UTF-8 cannot encode. Repair it with "
        "text.encode('utf-8', 'replace').decode('utf-8')."
    )


def refuse_texts(X: Any, *, caller: str, makes_rows: str) -> None:
    """Raise an error for a text column, also of a data frame; scikit-learn checks the rest."""
    shape = getattr(X, "shape", None)
    if not isinstance(X, Collection) or issparse(X):
        return
    if hasattr(X, "columns") and isinstance(shape, tuple) and len(shape) == 2:
        values = cast(Any, X)[:1].to_numpy().ravel().tolist()
        first = next(
            (value for value in values if isinstance(value, str) and not _is_number(value)), None
        )
        advice = ", within a ColumnTransformer if there are other columns"
    elif isinstance(shape, tuple) and len(shape) != 1:
        return
    else:
        first, advice = X if isinstance(X, str) else next(iter(X), None), ""
    if isinstance(first, str):
        shown = repr(first) if len(first) <= _MAX_SHOWN else f"{first[:_MAX_SHOWN]!r}..."
        received = (
            f"the text {shown}" if isinstance(X, str) else f"texts, the first of them {shown}"
        )
        raise ValueError(
            f"{caller} takes rows of numbers, got {received}. Put a transformer of texts before "
            f"it, as in {makes_rows}{advice}."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
