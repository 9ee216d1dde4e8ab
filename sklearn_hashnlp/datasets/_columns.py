"""The text and label columns of a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

LABEL_NAMES = ("label", "labels", "class", "category", "target", "intent", "sentiment", "tag", "tags", "y")
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


class Columns(NamedTuple):
    """Names of the text column and the label column; None is the first column with a common name."""

    text: str | None = None
    label: str | None = None


USUAL_COLUMNS: Final = Columns()


def find_columns(names: Sequence[str], wanted: Columns, location: str, *, labelled: bool) -> tuple[int, int | None]:
    """Return the indices of the text column and, if ``labelled``, the label column."""
    text_index = _find_column(names, wanted.text, TEXT_NAMES, "text", location)
    label_index = _find_column(names, wanted.label, LABEL_NAMES, "label", location)
    if len(names) == 2:  # if one of two is known, so is the other
        if text_index is None and label_index is not None:
            text_index = 1 - label_index
        elif label_index is None and text_index is not None:
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
                f"{location}: no column has a usual name of a {kind} column; the columns are {list(names)}. "
                f"Name it with {kind}_column (--{kind}-column). "
                "(The first line of a CSV or TSV file is its header: if it has none, put one in front.)"
            )
    assert text_index is not None  # the loop above has raised otherwise
    if not labelled:
        return text_index, None
    if text_index == label_index:
        raise ValueError(f"{location}: the text and the label are the same column, {names[text_index]!r}.")
    return text_index, label_index


def _find_column(
    names: Sequence[str], wanted: str | None, usual: Sequence[str], kind: str, location: str
) -> int | None:
    """Return the index of the column with the wanted name, or else with the first usual name, or None."""
    if wanted is not None:
        indices = [index for index, name in enumerate(names) if name == wanted]
        if not indices:
            raise ValueError(f"{location}: no column {wanted!r} for the {kind}; the columns are {list(names)}.")
    else:
        folded = [name.strip().casefold() for name in names]
        best = next((name for name in usual if name in folded), None)
        indices = [index for index, name in enumerate(folded) if name == best]
    if len(indices) > 1:
        raise ValueError(
            f"{location}: {len(indices)} columns are named {names[indices[0]]!r}; the {kind} column must be unique."
        )
    return indices[0] if indices else None


def _single_column_hint(name: str) -> str:
    """Return advice for a header of one column, which often has another delimiter."""
    delimiter = next((character for character in ";\t|," if character in name), None)
    if delimiter is None:
        return "Is the format right? If it is the text column, name it with text_column (--text-column)."
    return f"Is the delimiter {delimiter!r}? Pass it as delimiter (--delimiter)."
