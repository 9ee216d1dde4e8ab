"""``hashnlp predict``: predict the labels of texts, one per line or in a column of a table."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import lzma
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any, Final, cast

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import ModelFolder, TextFile, TextOptions
from sklearn_hashnlp.cli._pipelines import check_classifier, last_step
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

LABEL_COLUMN: Final = "predicted_label"
PROBABILITY_COLUMN: Final = "probability"
SEPARATOR: Final = "|"  # between labels in one field

_DELIMITED: Final = ("csv", "tsv")
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
    read = find_format(file, reading)
    written = output_format(output, read, as_json=screen.as_json)
    predictor = Predictor(model)
    if threshold is None and top is None and predictor.multilabel:
        threshold = _MULTILABEL_THRESHOLD
    lists = top is not None or threshold is not None
    k = top or (1 if threshold is None else predictor.n_labels)
    shows_bar = True if output is not None else None
    with (
        open_texts(screen, file, reading, action="Predicting", bar=shows_bar) as texts,
        open_output(screen, output, file) as stream,
    ):
        writer = PredictionWriter(stream, written, read, reading, as_json=screen.as_json, lists=lists, proba=proba)
        n_texts = 0
        for batch in texts.batches(BATCH_SIZE):
            predictions = predictor.predict_topk([text.text for text in batch], k, threshold or 0.0)
            if not n_texts:
                writer.begin(texts)
            writer.write(batch, predictions)
            n_texts += len(batch)
        if not n_texts and texts.header:
            writer.begin(texts)
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

        self._folder = folder
        self._n_texts = 0
        self._model: Any = load_model(folder, predict_only=True)
        self._is_whole = hasattr(self._model, "get_params")
        if self._is_whole:
            self._use_whole(self._model)
        self.multilabel = last_step(self._model).multilabel_
        self.n_labels = len(self._model.classes_)

    def _use_whole(self, model: Any) -> None:
        self._model, self._is_whole = check_classifier(model, self._folder), True

    def predict_topk(self, texts: list[str], k: int, threshold: float) -> list[Prediction]:
        """Return the most probable labels of each text with their probabilities, of at least a threshold."""
        self._n_texts += len(texts)
        if not self._is_whole and self._n_texts > _MANY_TEXTS:
            from sklearn_hashnlp.persistence import load_model

            self._use_whole(load_model(self._folder))
        model: Any = self._model
        if hasattr(model, "steps"):
            model, texts = model[-1], model[:-1].transform(texts)
        return model.predict_topk(texts, k, threshold)  # type: ignore[no-any-return]  # of any model


@contextmanager
def open_output(screen: Screen, path: Path | None, source: Path | None) -> Iterator[IO[str]]:
    """Open a file, written as ``NAME.part`` and renamed when it is complete, or stdout."""
    if path is None:
        yield sys.stdout
        return
    if path.suffix.lower() == ".zip":
        raise ValueError(f"{path}: a zip archive cannot be written; choose .gz, .bz2 or .xz.")
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


def output_format(path: Path | None, input_format: str, *, as_json: bool) -> str:
    """Return the format of the output, by the name of the file or else as the input."""
    kind = "lines" if input_format == "fasttext" else input_format
    if path is not None:
        name = Path(path.stem if path.suffix.lower() in _OPENERS else path.name)
        named = {"tab": "tsv", "ndjson": "jsonl", "json": "jsonl"}.get(name.suffix[1:], name.suffix[1:])
        kind = named if named in TABLES else kind
    if as_json and kind != "lines":
        kind = "jsonl"
    if input_format == "jsonl" and kind != "jsonl":
        raise ValueError(f"{path}: the rows are JSON objects and are written as JSON lines; expected a name in .jsonl.")
    return kind


class PredictionWriter:
    """Write texts with their predictions: lines of labels, rows of a table, or JSON objects."""

    def __init__(
        self, stream: IO[str], written: str, read: str, options: TextOptions, *, as_json: bool, lists: bool, proba: bool
    ) -> None:
        self._stream, self._lists, self._proba = stream, lists, proba
        self._format = "json" if as_json and written == "lines" else written
        self._as_read = written == read  # another format has its own delimiter and quotes
        self._escapechar = options.escapechar if self._as_read else None
        self._encloses = options.quoted or not self._as_read
        self._quoted = self._encloses or self._escapechar is not None  # or else fields are written as they were read
        self._names: list[str] | None = None

    def begin(self, texts: TextReader) -> None:
        """Write the header of a table; the texts that are read may be of another."""
        self._names = texts.header if texts.file_format in TABLES else None
        if self._format in _DELIMITED:
            read = texts.delimiter if self._as_read else None
            self._delimiter = read or ("\t" if self._format == "tsv" else ",")
            self._csv = csv.writer(
                _Echo(),
                delimiter=self._delimiter,
                quoting=csv.QUOTE_MINIMAL if self._encloses else csv.QUOTE_NONE,
                quotechar='"' if self._encloses else None,
                escapechar=self._escapechar,
                lineterminator="\n",
            )
            names = self._names or ["text"]
            _check_free(names, "The table")
            self._stream.write(self._row([*names, LABEL_COLUMN, PROBABILITY_COLUMN]))

    def write(self, texts: list[Any], predictions: list[Prediction]) -> None:
        """Write a batch, and flush it: a reader of a pipe waits for it."""
        self._stream.writelines(map(self._line, texts, predictions))
        self._stream.flush()

    def _line(self, text: Any, prediction: Prediction) -> str:
        if self._format == "lines":
            fields = [
                f"{one_field(label)}\t{share:.4f}" if self._proba else one_field(label) for label, share in prediction
            ]
            return "\t".join(fields) + "\n"
        if self._format in _DELIMITED:
            labels = SEPARATOR.join(str(label) for label, _ in prediction)
            probabilities = SEPARATOR.join(f"{probability:.4f}" for _, probability in prediction)
            return self._row([*(text.record or [text.text]), labels, probabilities])
        entries = [{"label": label, "probability": probability} for label, probability in prediction]
        first = entries[0] if entries else {"label": None, "probability": None}
        top: dict[str, Any] = {"top": entries} if self._lists else {}
        if self._format == "json":
            return json.dumps(first | top) + "\n"
        if isinstance(text.record, dict):
            row = dict(text.record)
        else:
            row = {"text": text.text} if self._names is None else dict(zip(self._names, text.record, strict=True))
        _check_free([*row], "The row", *top)
        row |= {LABEL_COLUMN: first["label"], PROBABILITY_COLUMN: first["probability"]} | top
        line = json.dumps(row, ensure_ascii=False)
        with suppress(UnicodeEncodeError):  # half of a surrogate pair, in a key that is not the text
            line.encode("utf-8")
            return line + "\n"
        return json.dumps(row) + "\n"

    def _row(self, fields: list[str]) -> str:
        if self._quoted:
            return str(self._csv.writerow(fields))
        # Fields are as they were read: quotes in them are characters.
        added = [one_field(field).replace(self._delimiter, " ") for field in fields[-2:]]
        return self._delimiter.join([*fields[:-2], *added]) + "\n"


class _Echo:
    """A file with a ``write`` that returns the text, as then does ``writerow``."""

    def write(self, text: str) -> str:
        return text


def _check_free(names: list[str], what: str, *more: str) -> None:
    for name in (LABEL_COLUMN, PROBABILITY_COLUMN, *more):
        if name in names:
            raise ValueError(
                f"{what} has a column {name!r} already, the name of a column to be added. Rename it first."
            )
