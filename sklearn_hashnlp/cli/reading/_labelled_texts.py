"""Labeled files: reading with a progress bar, and the labels as lists."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sklearn_hashnlp.cli._options import LabelledOptions
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli.reading._text_formats import SkippedRows

if TYPE_CHECKING:
    from sklearn_hashnlp.datasets._row_formats import Row, RowReader


class LabelledTexts(NamedTuple):
    """The texts of a file, their labels as ``load_labelled`` returns them, and the number of the first line of each."""

    texts: list[str]
    labels: Any
    lines: list[int]


def read_labelled(
    screen: Screen, path: Path, *, multilabel: bool | None = None, few_rows: bool = False, **options: Any
) -> LabelledTexts:
    """Read a labeled file with a progress bar; the options are the fields of :class:`LabelledOptions`.

    ``few_rows`` of a label are enough, as the labels of a test set are known.
    """
    from sklearn_hashnlp.datasets._labelled import collect_rows

    skipped = SkippedRows(screen)
    with screen.bar(f"Reading {path.name}") as update, screen.warnings_as_notes():
        rows = open_labelled(path, LabelledOptions(**options), update, skipped, multilabel=multilabel)
        lines: list[int] = []
        texts, labels = collect_rows(_noting_lines(rows, lines), rows, path, multilabel, few_rows=few_rows)
    source = str(path) if rows.columns.text is None else f"columns {rows.columns.text}, {rows.columns.label} of {path}"
    n_empty = sum(not text.strip() for text in texts)
    empty = f" ({n_empty:,} empty)" if n_empty else ""
    sizes = [len(row) for row in label_lists(labels)]
    each = f", {min(sizes)} to {max(sizes)} each," if isinstance(labels, list) else ""
    n_labels = counted(len(count_labels(labels)), "label")
    screen.note(f"Read {counted(len(texts), 'text')}{empty} with {n_labels}{each} from {source}")
    report_skipped(screen, path, skipped, rows)
    return LabelledTexts(texts, labels, lines)


def open_labelled(
    path: Path,
    options: LabelledOptions,
    progress: Callable[[int, int], None],
    on_error: Callable[[ValueError], None],
    *,
    multilabel: bool | None = None,
) -> RowReader:
    """Open a labeled file; ``on_error`` is called with the errors of rows that are skipped."""
    from sklearn_hashnlp.datasets._labelled import find_format, open_rows
    from sklearn_hashnlp.datasets._row_formats import Columns, RowFormat

    row_format = RowFormat(
        find_format(path, options.file_format),
        Columns(options.text_column, options.label_column),
        options.delimiter,
        options.quoted,
        options.escapechar,
        options.label_prefix,
        options.label_separator,
    )
    return open_rows(
        path,
        row_format,
        options.decoding,
        multilabel=multilabel,
        progress=progress,
        on_error=on_error if options.errors == "skip" else None,
    )


def report_skipped(screen: Screen, path: Path, skipped: SkippedRows, rows: RowReader) -> None:
    """Note the rows that were skipped."""
    from sklearn_hashnlp.datasets._labelled import rejected_message

    skipped.report()
    if rows.n_rejected:
        screen.note(rejected_message(path, rows.n_rejected))


def _noting_lines(rows: Iterable[Row], lines: list[int]) -> Iterator[Row]:
    for row in rows:
        lines.append(row.line)
        yield row


def label_lists(labels: Any) -> list[list[str]]:
    """Return the labels of each text as a list."""
    return labels if isinstance(labels, list) else [[label] for label in labels.tolist()]


def count_labels(labels: Any) -> dict[str, int]:
    """Return the number of texts of each label, the most frequent first."""
    counts = Counter(label for row in label_lists(labels) for label in row)
    return {name: counts[name] for name in sorted(counts, key=lambda name: (-counts[name], name))}


def check_labels(labels: Any, source: str) -> None:
    """Raise an error if all texts have the same label, before anything is trained."""
    classes = list(count_labels(labels))
    if len(classes) < 2 and all(label_lists(labels)):
        raise ValueError(f"{source}: expected at least two different labels, got only {classes[0]!r}.")


def note_unknown_labels(
    screen: Screen, source: str, true: Sequence[Sequence[str]], known: set[str], *, separable: bool
) -> None:
    """Print notes of labels unknown to the model, or like others; ``separable``: a label may be multiple labels."""
    from sklearn_hashnlp.datasets._label_checks import warn_of_twins

    labels = {label for row in true for label in row}
    with screen.warnings_as_notes():
        warn_of_twins(labels | known, source)
    unknown = sorted(labels - known)
    if not unknown:
        return
    names = ", ".join(label if label.isprintable() else ascii(label) for label in unknown[:5])
    names += ", ..." * (len(unknown) > 5)
    screen.note(f"Labels of {source} that the model was not trained on and never predicts: {names}")
    if not labels & known:
        hint = " If a field has multiple labels, add --label-separator, such as --label-separator ','." * separable
        screen.note(f"The model knows none of the labels of {source}: all figures are 0.{hint}")
