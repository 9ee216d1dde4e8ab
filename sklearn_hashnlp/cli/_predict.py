"""``hashnlp predict``: predict the labels of texts, one per line or in a column of a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import (
    Delimiter,
    Errors,
    FormatOfTexts,
    Json,
    LabelPrefix,
    ModelFolder,
    Quiet,
    Quoted,
    ReadErrors,
    TextColumn,
)
from sklearn_hashnlp.cli._prediction_output import (
    JsonWriter,
    LabelWriter,
    Prediction,
    TableWriter,
    Writer,
    open_output,
    output_format,
)
from sklearn_hashnlp.cli._screen import Screen
from sklearn_hashnlp.cli.reading._lines import BATCH_SIZE, batches
from sklearn_hashnlp.cli.reading._text_formats import TextSource

HELP = """\
Predict the labels of new texts: lines, or a column of a table.

\b
  echo "Win a prize now!" | hashnlp predict --model spam
  hashnlp predict --model spam new.txt --top 3 --proba > labels.tsv
  hashnlp predict --model spam mails.csv --text-column body --output out.csv
  hashnlp predict --model spam mails.jsonl --output out.jsonl
  hashnlp predict --model spam new.txt --threshold 0.9
  hashnlp predict --model spam new.txt --json | jq .label

FILE is read as train reads it: .csv, .tsv and .jsonl are tables, whose rows are kept with the columns predicted_label \
and probability added (several labels are separated by |); any other file, and stdin, has one text per line, and an \
empty line is an empty text. --format says otherwise. Files may be compressed as .gz, .bz2, .xz, .zip.

Each line gets one line of output: its most probable label. Several labels and probabilities are separated by tabs, \
the most probable first. A model with several labels per text prints those of probability 0.5 or more.

--top 3 prints the three most probable labels. --threshold 0.9 prints all labels with at least this probability, or an \
empty line if there are none. Both together print at most three labels, each with at least this probability.

With --json each line is an object with "label" and "probability" (null if no label reaches the threshold), and with \
--top or --threshold also "top", a list of such objects; a row of a table is an object with its columns and those \
added.
"""

_MULTILABEL_THRESHOLD = 0.5


@reporting_errors
def predict(
    model: ModelFolder,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="Texts, one per line, or a table. Default: stdin.", show_default=False),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write. Default: stdout.", show_default=False),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            "-k",
            metavar="K",
            min=1,
            help="Print the K most probable labels. Default: 1, or all that reach --threshold.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="P", min=0.0, max=1.0, help="Print only labels with at least this probability.", show_default=False
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", "-p", help="Print the probability after each label.")] = False,
    file_format: FormatOfTexts = None,
    text_column: TextColumn = None,
    delimiter: Delimiter = None,
    quoted: Quoted = True,
    label_prefix: LabelPrefix = "__label__",
    errors: ReadErrors = Errors.strict,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict labels; the parameters are the options of the command."""
    screen = Screen(as_json=as_json, quiet=quiet)
    source = TextSource.of(
        file,
        None if file_format is None else file_format.value,
        text_column=text_column,
        delimiter=delimiter,
        quoted=quoted,
        label_prefix=label_prefix,
        errors=errors,
    )
    written = output_format(output, source.kind, as_json=as_json)
    from sklearn_hashnlp.cli._light_classifier import load_predictor

    classifier = load_predictor(model)
    if threshold is None and top is None and classifier.multilabel:
        threshold = _MULTILABEL_THRESHOLD
    lists = top is not None or threshold is not None
    bar = True if output is not None else None
    with (
        source.open(screen, action="Predicting", bar=bar) as (texts, table, ready),
        open_output(screen, output, file) as stream,
    ):
        writer: Writer
        if written == "jsonl" or as_json:
            writer = JsonWriter(stream, lists=lists, with_rows=written == "jsonl")
        elif written == "lines":
            writer = LabelWriter(stream, proba=proba)
        else:
            as_read = written == source.kind  # another format has its own delimiter and quotes
            separator = delimiter if delimiter and as_read else {"csv": ",", "tsv": "\t"}[written]
            writer = TableWriter(stream, delimiter=separator, quoted=quoted or not as_read)
        n_texts = 0
        for batch in batches(texts, BATCH_SIZE, ready):
            predictions = list(ranked_labels(classifier, [text.text for text in batch], top, threshold))
            if not n_texts:
                writer.begin(None if table is None else table.header)
            writer.write(batch, predictions)
            n_texts += len(batch)
        if table is not None:
            if not n_texts and table.header:
                writer.begin(table.header)
            table.report(n_texts)


def ranked_labels(classifier: Any, texts: list[str], top: int | None, threshold: float | None) -> Iterator[Prediction]:
    """Yield the most probable labels of each text."""
    labels = classifier.classes_.tolist()
    probabilities = classifier.predict_proba(texts)
    max_labels = top or (1 if threshold is None else len(labels))
    min_probability = 0.0 if threshold is None else threshold
    best = (-probabilities).argsort(axis=1, kind="stable")[:, :max_labels]
    for row, columns in zip(probabilities.tolist(), best.tolist(), strict=True):
        yield [(labels[column], row[column]) for column in columns if row[column] >= min_probability]
