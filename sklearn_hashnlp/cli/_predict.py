"""``hashnlp predict``: predict the labels of texts, one per line or in a column of a table."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, TextFile, TextOptions
from sklearn_hashnlp.cli._pipelines import check_classifier, last_step, predict_topk
from sklearn_hashnlp.cli._screen import Screen, counted, one_field
from sklearn_hashnlp.cli.reading._texts import BATCH_SIZE, TABLES, find_format, is_stdin, open_texts

if TYPE_CHECKING:
    from sklearn_hashnlp.datasets import TextReader

HELP = """\
Predict the labels of new texts: lines, or a column of a table.

\b
  echo "Win a prize now!" | hashnlp predict --model spam
  hashnlp predict --model spam new.txt --top 3 --proba > labels.tsv
  hashnlp predict --model spam mails.csv --text-column body --output out.csv
  hashnlp predict --model spam mails.jsonl --output out.jsonl
  hashnlp predict --model spam new.txt --threshold 0.9
  hashnlp predict --model spam new.txt --json | jq .label

FILE is read as by train: .csv, .tsv and .jsonl are tables; their rows are kept, with the columns predicted_label and \
probability added (multiple labels are separated by |). Any other file, and stdin, has one text per line, and an empty \
line is an empty text; --format overrides this. Files may be compressed as .gz, .bz2, .xz, .zip.

Each line gets one line of output: its most probable label. Labels and probabilities are separated by tabs, the most \
probable first. A model with multiple labels per text prints all labels of probability 0.5 or more.

--top 3 prints the three most probable labels. --threshold 0.9 prints all labels with at least this probability, or an \
empty line if there are none. Both together print at most three labels, each with at least this probability.

With --json each line is an object with "label" and "probability" (null if no label reaches the threshold), and with \
--top or --threshold also "top", a list of such objects; for a table it has the columns of the row, too.
"""

_MULTILABEL_THRESHOLD = 0.5
# Number of texts from which on the whole model is loaded: it is twenty times as fast, and loading it takes the time of
# predicting about this number of texts.
_MANY_TEXTS = 20_000

_LABEL_COLUMN, _PROBABILITY_COLUMN = "predicted_label", "probability"
_OPENERS: Final[dict[str, Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

Prediction = list[tuple[Any, float]]
"""Labels and their probabilities, the most probable first."""


@reporting_errors
def predict(
    model: ModelFolder,
    reading: TextOptions,
    screen: Screen,
    file: TextFile = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: stdout.")
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            "-k",
            metavar="K",
            min=1,
            help="Print the K most probable labels. Default: 1, or all that reach --threshold.",
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(metavar="P", min=0.0, max=1.0, help="Print only labels with at least this probability."),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", "-p", help="Print the probability after each label.")] = False,
) -> None:
    """Predict labels; the parameters are the options of the command."""
    file_format = find_format(file, reading)
    predictor = Predictor(model)
    if threshold is None and top is None and predictor.multilabel:
        threshold = _MULTILABEL_THRESHOLD
    k = top or (1 if threshold is None else predictor.n_labels)
    lists = top is not None or threshold is not None
    n_texts, shows_bar = 0, True if output is not None else None
    with (
        open_texts(screen, file, reading, action="Predicting", bar=shows_bar) as texts,
        open_output(screen, output, file) as stream,
    ):
        format_row: Callable[[Any, Prediction], str] | None = None
        if screen.as_json or file_format == "jsonl":
            format_row = _JsonRows(texts, lists=lists)
        elif file_format not in TABLES:
            format_row = _line_with_probabilities if proba else _line
        for batch in texts.batches(BATCH_SIZE):
            predictions = predictor.predict_topk([text.text for text in batch], k, threshold or 0.0)
            if format_row is None:
                format_row = _TableRows(texts, stream, reading)
            stream.writelines(map(format_row, batch, predictions))
            stream.flush()  # a reader of a pipe waits for it
            n_texts += len(batch)
        if format_row is None and texts.header:
            _TableRows(texts, stream, reading)
    note_read(screen, file, texts, n_texts)


def note_read(screen: Screen, file: Path | None, texts: TextReader, n_texts: int) -> None:
    """Note the number of texts of a table, and their column."""
    if texts.file_format in TABLES:
        column = "" if texts.text_column is None else f"column {texts.text_column} of "  # None: there was no row
        screen.note(f"Read {counted(n_texts, 'text')} from {column}{'stdin' if is_stdin(file) else file}")


class Predictor:
    """A saved classifier of texts: with numpy alone for few texts of a linear model, else the whole model."""

    def __init__(self, folder: Path) -> None:
        from sklearn_hashnlp.persistence import load_model

        self._folder, self._n_texts = folder, 0
        self._model: Any = load_model(folder, predict_only=True)
        self._is_whole = hasattr(self._model, "get_params")
        if self._is_whole:
            check_classifier(self._model, folder)
        self.multilabel = last_step(self._model).multilabel_
        self.n_labels = len(self._model.classes_)

    def predict_topk(self, texts: list[str], k: int, threshold: float) -> list[Prediction]:
        """Return the most probable labels of each text with their probabilities, of at least a threshold."""
        self._n_texts += len(texts)
        if not self._is_whole and self._n_texts > _MANY_TEXTS:
            from sklearn_hashnlp.persistence import load_model

            self._model, self._is_whole = check_classifier(load_model(self._folder), self._folder), True
        return predict_topk(self._model, texts, k, threshold)


@contextmanager
def open_output(screen: Screen, path: Path | None, source: Path | None) -> Iterator[IO[str]]:
    """Open a file, written as ``NAME.part`` and renamed when it is complete, or stdout."""
    if path is None:
        yield sys.stdout
        return
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; expected a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}. Make it first.")
    if source is not None and path.exists() and source.exists() and path.samefile(source):
        raise ValueError(f"{path} is the file of the texts; choose another --output.")
    part = path.with_name(f"{path.name}.part")
    opener = _OPENERS.get(path.suffix.lower(), open)
    try:
        with opener(part, "wt", encoding="utf-8", newline="") as stream:
            yield cast(IO[str], stream)
    except BaseException:
        if part.exists():
            screen.note(f"What was predicted before is in {part}")
        raise
    part.replace(path)


def _line(_text: Any, prediction: Prediction) -> str:
    return "\t".join(one_field(label) for label, _ in prediction) + "\n"


def _line_with_probabilities(_text: Any, prediction: Prediction) -> str:
    return "\t".join(f"{one_field(label)}\t{share:.4f}" for label, share in prediction) + "\n"


class _TableRows:
    """Rows of CSV and TSV as they were read, with two columns more; the header is written first."""

    def __init__(self, texts: TextReader, stream: IO[str], options: TextOptions) -> None:
        delimiter = texts.delimiter or ("\t" if texts.file_format == "tsv" else ",")
        dialect: dict[str, Any] = {"delimiter": delimiter, "lineterminator": "\n"}
        if not options.quoted:
            dialect |= {"quoting": csv.QUOTE_NONE, "quotechar": None}
        self._table = csv.writer(_Echo(), escapechar=options.escapechar, **dialect)
        self._replaced = delimiter if not options.quoted else ""
        _check_free(texts.header, "The table")
        stream.write(str(self._table.writerow([*texts.header, _LABEL_COLUMN, _PROBABILITY_COLUMN])))

    def __call__(self, text: Any, prediction: Prediction) -> str:
        labels = "|".join(str(label) for label, _ in prediction)
        if self._replaced:  # it cannot be quoted
            labels = one_field(labels).replace(self._replaced, " ")
        probabilities = "|".join(f"{probability:.4f}" for _, probability in prediction)
        return str(self._table.writerow([*text.record, labels, probabilities]))


class _JsonRows:
    """JSON objects: of lines with a label and its probability, of tables with the columns of the row, too."""

    def __init__(self, texts: TextReader, *, lists: bool) -> None:
        self._texts, self._lists = texts, lists

    def __call__(self, text: Any, prediction: Prediction) -> str:
        entries = [{"label": label, "probability": probability} for label, probability in prediction]
        first = entries[0] if entries else {"label": None, "probability": None}
        top: dict[str, Any] = {"top": entries} if self._lists else {}
        if self._texts.file_format not in TABLES:
            return json.dumps(first | top) + "\n"
        is_object = isinstance(text.record, dict)
        row = dict(text.record if is_object else zip(self._texts.header, text.record, strict=True))
        _check_free([*row], "The row", *top)
        row |= {_LABEL_COLUMN: first["label"], _PROBABILITY_COLUMN: first["probability"]} | top
        line = json.dumps(row, ensure_ascii=False)
        with suppress(UnicodeEncodeError):  # half of a surrogate pair, in a key that is not the text
            line.encode("utf-8")
            return line + "\n"
        return json.dumps(row) + "\n"


class _Echo:
    """A file with a ``write`` that returns the text, as then does ``writerow``."""

    def write(self, text: str) -> str:
        return text


def _check_free(names: list[str], what: str, *more: str) -> None:
    for name in (_LABEL_COLUMN, _PROBABILITY_COLUMN, *more):
        if name in names:
            raise ValueError(
                f"{what} has a column {name!r} already, the name of a column to be added. Rename it first."
            )
