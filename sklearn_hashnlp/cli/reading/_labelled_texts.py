"""Labeled files: reading with a progress bar, and the labels as lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from sklearn_hashnlp.cli._options import LabelledOptions
from sklearn_hashnlp.cli._screen import Screen, counted


def read_labelled(
    screen: Screen,
    path: Path,
    options: LabelledOptions,
    *,
    classes: Collection[str] | None = None,
    multilabel: bool | None = None,
) -> Any:
    """Read a labeled file with a progress bar, as a Bunch; ``classes`` are the labels of a model to test."""
    from sklearn_hashnlp.datasets import load_labelled

    with screen.bar(f"Reading {path.name}") as update, screen.warnings_as_notes():
        data: Any = load_labelled(
            path, **vars(options), multilabel=multilabel, classes=classes, progress=update, return_X_y=False
        )
    labels = label_lists(data.target)
    columns = "" if data.text_column is None else f"columns {data.text_column}, {data.label_column} of "
    sizes = [len(row) for row in labels]
    each = f", {min(sizes)} to {max(sizes)} each," if isinstance(data.target, list) else ""
    n_labels = counted(len(count_labels(data.target)), "label")
    texts = counted_texts(len(data.data), sum(not text.strip() for text in data.data))
    screen.note(f"Read {texts} with {n_labels}{each} from {columns}{path}")
    return data


def counted_texts(n_texts: int, n_empty: int) -> str:
    """Format a number of texts, and how many of them are empty."""
    return counted(n_texts, "text") + (f" ({n_empty:,} empty)" if n_empty else "")


def label_lists(labels: Any) -> list[list[str]]:
    """Return the labels of each text as a list."""
    return labels if isinstance(labels, list) else [[label] for label in labels.tolist()]


def count_labels(labels: Any) -> dict[str, int]:
    """Return the number of texts of each label, the most frequent first."""
    return in_order(Counter(label for row in label_lists(labels) for label in row))


def in_order(counts: Counter[str]) -> dict[str, int]:
    """Return the counts of labels, the most frequent first."""
    return {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))}


def check_labels(n_labels: dict[str, int], n_texts: int, source: object) -> None:
    """Raise an error if all texts have the same label, before anything is trained."""
    if len(n_labels) < 2 and sum(n_labels.values()) == n_texts:
        raise ValueError(f"{source}: expected at least two different labels, got only {next(iter(n_labels))!r}.")


def note_unknown_labels(
    screen: Screen, source: object, true: Sequence[Sequence[str]], known: Collection[str], *, separable: bool
) -> None:
    """Print notes of labels that the model does not know; ``separable``: a label may be multiple labels."""
    labels = {label for row in true for label in row}
    unknown = sorted(labels.difference(known))
    if not unknown:
        return
    names = ", ".join(label if label.isprintable() else ascii(label) for label in unknown[:5])
    names += ", ..." * (len(unknown) > 5)
    screen.note(f"Labels of {source} that the model was not trained on and never predicts: {names}")
    if len(unknown) == len(labels):
        hint = " If a field has multiple labels, add --label-separator, such as --label-separator ','." * separable
        screen.note(f"The model knows none of the labels of {source}: all figures are 0.{hint}")
