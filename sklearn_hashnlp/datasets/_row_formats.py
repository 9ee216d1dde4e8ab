"""Formats of files with texts and labels, and which of their columns these are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final, NamedTuple

LABEL_NAMES = (
    "label",
    "labels",
    "class",
    "category",
    "target",
    "intent",
    "sentiment",
    "tag",
    "tags",
    "y",
)
TEXT_NAMES = (
    "text",
    "texts",
    "sentence",
    "document",
    "content",
    "review",
    "message",
    "utterance",
    "question",
    "body",
    "x",
)
# columns that are not labels although they are the only other
_NOT_A_LABEL = ("", "id", "idx", "index", "unnamed: 0")

FORMATS: Final = ("csv", "tsv", "jsonl", "fasttext")
FORMATS_BY_EXTENSION: Final = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".fasttext": "fasttext",
    ".ft": "fasttext",
    ".txt": "fasttext",
    ".train": "fasttext",
    ".valid": "fasttext",
    ".test": "fasttext",
}
FASTTEXT_PREFIX = "__label__"
# fastText splits at ASCII whitespace, not Unicode's, and at NUL, which here is a character of a
# text.
FASTTEXT_SPACES = " \t\n\v\f\r"


class Columns(NamedTuple):
    """Names of the text and label columns; None is the first column with a common name."""

    text: str | None = None
    label: str | None = None


USUAL_COLUMNS: Final = Columns()


def find_columns(
    names: Sequence[str], wanted: Columns, location: str, *, labelled: bool
) -> tuple[int, int | None]:
    """Return the indices of the text column and, if ``labelled``, the label column."""
    text_index = _find_column(names, wanted.text, TEXT_NAMES, "text", location)
    label_index = _find_column(names, wanted.label, LABEL_NAMES, "label", location)
    if len(names) == 2:  # if one of two is known, so is the other
        if text_index is None and label_index is not None:
            text_index = 1 - label_index
        elif (
            label_index is None
            and text_index is not None
            and folded(names[1 - text_index]) not in _NOT_A_LABEL
        ):
            label_index = 1 - text_index
    if len(names) == 1 and (labelled or text_index is None):
        wanted_columns = "a text and a label column" if labelled else "a text column"
        raise ValueError(
            f"{location}: expected {wanted_columns}, got only the column {names[0][:200]!r}. "
            f"{_single_column_hint(names[0])}"
        )
    for kind, index in (("text", text_index), ("label", label_index)):
        if index is None and (labelled or kind == "text"):
            raise ValueError(
                f"{location}: no column has a usual name of a {kind} column; the columns are "
                f"{list(names)}. Name it with {kind}_column (--{kind}-column). (The first line of "
                "a CSV or TSV file is its header: if it has none, put one in front.)"
            )
    assert text_index is not None  # the loop above has raised otherwise
    if not labelled:
        return text_index, None
    if text_index == label_index:
        raise ValueError(
            f"{location}: the text and the label are the same column, {names[text_index]!r}."
        )
    return text_index, label_index


def _find_column(
    names: Sequence[str], wanted: str | None, usual: Sequence[str], kind: str, location: str
) -> int | None:
    """Return the index of the column with the wanted or else the first usual name, or None."""
    if wanted is not None:
        indices = [index for index, name in enumerate(names) if name == wanted]
        if not indices:
            raise ValueError(
                f"{location}: no column {wanted!r} for the {kind}; the columns are {list(names)}."
            )
    else:
        known = [folded(name) for name in names]
        best = next((name for name in usual if name in known), None)
        indices = [index for index, name in enumerate(known) if name == best]
    if len(indices) > 1:
        raise ValueError(
            f"{location}: {len(indices)} columns are named {names[indices[0]]!r}; the {kind} "
            "column must be unique."
        )
    return indices[0] if indices else None


def folded(name: str) -> str:
    """Return a name of a column as it is compared with usual names."""
    return name.strip().casefold()


def _single_column_hint(name: str) -> str:
    """Return advice for a header of one column, which often has another delimiter."""
    delimiter = next((character for character in ";\t|," if character in name), None)
    if delimiter is None:
        return (
            "Is the format right? If it is the text column, name it with text_column "
            "(--text-column)."
        )
    return f"Is the delimiter {delimiter!r}? Pass it as delimiter (--delimiter)."


def format_of_name(name: str) -> str | None:
    """Return the format that the extension of a file's name stands for; None for unknown ones."""
    return FORMATS_BY_EXTENSION.get(PurePath(name).suffix.lower())


@dataclass(frozen=True)
class RowFormat:
    """The format of a file, and the position of texts and labels in its rows."""

    name: str  # one of FORMATS
    columns: Columns = USUAL_COLUMNS
    delimiter: str | None = None  # for CSV and TSV; None is the format's default
    quoted: bool = True
    # The character before a quote, a delimiter or a line break that belongs to a field of CSV and
    # TSV
    escapechar: str | None = None
    label_prefix: str = FASTTEXT_PREFIX
    label_separator: str | None = None  # separator of multiple labels in a field; None is one label

    def __post_init__(self) -> None:
        if self.name not in FORMATS:
            raise ValueError(
                f"file_format must be one of {', '.join(FORMATS)}. Got {self.name!r} instead."
            )
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(
                "delimiter must be one character, no quote and no line break. Got "
                f"{self.delimiter!r}."
            )
        if self.delimiter is not None and self.name not in ("csv", "tsv"):
            raise ValueError(
                f"delimiter is for CSV and TSV, not for {self.name}. Got {self.delimiter!r}."
            )
        if self.escapechar is not None and (
            len(self.escapechar) != 1 or self.escapechar in f'"\r\n {self.separator}'
        ):
            raise ValueError(
                "escapechar must be one character, no quote, space, delimiter or line break. Got "
                f"{self.escapechar!r}."
            )
        if self.escapechar is not None and self.name not in ("csv", "tsv"):
            raise ValueError(
                f"escapechar is for CSV and TSV, not for {self.name}. Got {self.escapechar!r}."
            )
        if self.name == "fasttext" and self.label_separator is not None:
            raise ValueError(
                "label_separator is for CSV, TSV and JSON lines, not for fasttext. Set it to None."
            )
        if self.name != "fasttext" and self.label_prefix != FASTTEXT_PREFIX:
            raise ValueError(
                f"label_prefix is for fasttext, not for {self.name}. Got {self.label_prefix!r}."
            )
        if not self.label_prefix or {*self.label_prefix} & {*FASTTEXT_SPACES}:
            raise ValueError(
                f"label_prefix must be characters without spaces. Got {self.label_prefix!r}."
            )
        if self.label_separator == "":
            raise ValueError(
                "label_separator must be None or at least one character. Got an empty string."
            )

    @property
    def separator(self) -> str:
        """The character between fields of CSV and TSV."""
        return self.delimiter or ("\t" if self.name == "tsv" else ",")
