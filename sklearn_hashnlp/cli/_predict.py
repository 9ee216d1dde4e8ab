"""``hashnlp predict``: predict the labels of texts, one per line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._lines import check_text_file, line_batches
from sklearn_hashnlp.cli._options import Json, ModelFolder, Quiet
from sklearn_hashnlp.cli._screen import Screen

HELP = """\
Predict the labels of new texts, one text per line.

\b
  echo "Win a prize now!" | hashnlp predict --model spam
  hashnlp predict --model spam new.txt --top 3 --proba > labels.tsv
  hashnlp predict --model spam new.txt --threshold 0.9
  hashnlp predict --model spam new.txt --json | jq .label

Texts are read from FILE (UTF-8, also compressed as .gz, .bz2, .xz, .zip) or from stdin; an empty line is an empty \
text. Each text gets one line of output: its most probable label. Several labels and probabilities are separated by \
tabs, the most probable first.

--top 3 prints the three most probable labels. --threshold 0.9 prints all labels with at least this probability, or an \
empty line if there are none. Both together print at most three labels, each with at least this probability.

With --json each line is an object with "label" and "probability" (null if no label reaches the threshold), and with \
--top or --threshold also "top", a list of such objects.
"""

_LABELED_SUFFIXES = {".csv", ".tsv", ".jsonl"}


@reporting_errors
def predict(
    model: ModelFolder,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Texts, one per line. Default: stdin.", show_default=False)
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            "--k",
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
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Predict labels; the parameters are the options of the command."""
    screen = Screen(as_json=as_json, quiet=quiet)
    check_text_file(file)  # before torch is loaded
    from sklearn_hashnlp.cli._pipelines import load_classifier

    classifier = load_classifier(model)
    if file is not None and str(file) != "-":
        from sklearn_hashnlp.datasets._lines import name_inside

        if Path(name_inside(file)).suffix.lower() in _LABELED_SUFFIXES:
            screen.note(f"Each line of {file} is read as a text. To test a model on a labeled file, use hashnlp test.")
    with line_batches(screen, file, action="Predicting", unit="text") as batches:
        for texts in batches:
            sys.stdout.writelines(_output_lines(classifier, texts, top, threshold, proba=proba, as_json=as_json))
            sys.stdout.flush()


def _output_lines(
    classifier: Any, texts: list[str], top: int | None, threshold: float | None, *, proba: bool, as_json: bool
) -> Iterator[str]:
    """Yield the line of output for each text."""
    labels = classifier.classes_.tolist()
    probabilities = classifier.predict_proba(texts)
    max_labels = top or (1 if threshold is None else len(labels))
    min_probability = 0.0 if threshold is None else threshold
    best = (-probabilities).argsort(axis=1, kind="stable")[:, :max_labels]
    for row, columns in zip(probabilities.tolist(), best.tolist(), strict=True):
        predicted = [(labels[column], row[column]) for column in columns if row[column] >= min_probability]
        if as_json:
            entries = [{"label": label, "probability": probability} for label, probability in predicted]
            first = entries[0] if entries else {"label": None, "probability": None}
            yield json.dumps(first if top is None and threshold is None else first | {"top": entries}) + "\n"
        elif proba:
            yield "\t".join(f"{_escape(label)}\t{probability:.4f}" for label, probability in predicted) + "\n"
        else:
            yield "\t".join(_escape(label) for label, _ in predicted) + "\n"


def _escape(label: object) -> str:
    """Replace tabs and line breaks, which separate the fields of the output."""
    return str(label).replace("\t", " ").replace("\n", " ").replace("\r", " ")
