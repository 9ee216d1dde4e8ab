"""``hashnlp predict``: labels for new texts, one a line."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._lines import check_lines, line_batches
from sklearn_hashnlp.cli._options import Json, ModelFolder, Quiet
from sklearn_hashnlp.cli._screen import Screen

HELP = """\
Label new texts: one text a line in, one line out for each.

\b
  echo "Win a prize now!" | hashnlp predict --model spam
  hashnlp predict --model spam new.txt --top 3 --proba > labels.tsv
  hashnlp predict --model spam new.txt --threshold 0.9
  hashnlp predict --model spam new.txt --json | jq .label

Texts come from FILE (plain text, also .gz, .bz2, .xz, .zip) or, without one, from the standard input, UTF-8 both. \
An empty line is an empty text. Labels and probabilities stand apart by tabs, the most probable first.

Each text gets its most probable label. --top 3 prints the three most probable instead. --threshold 0.9 prints every \
label that is at least so probable, which may be none: the line is empty then. Both together: at most three labels, \
each of at least that probability.

With --json each line is an object with "label" and "probability" (null where the threshold leaves none), and with \
--top or --threshold also "top", a list of such objects.
"""

_LABELLED_SUFFIXES = {".csv", ".tsv", ".jsonl"}


@reporting_errors
def predict(
    model: ModelFolder,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Texts, one a line; without it, stdin.", show_default=False)
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            "--top",
            "--k",
            "-k",
            metavar="K",
            min=1,
            help="Print the K most probable labels. Else: one, or all that reach --threshold.",
            show_default=False,
        ),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            metavar="P", min=0.0, max=1.0, help="Print only labels with at least this probability.", show_default=False
        ),
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", "-p", help="Print each label's probability after it.")] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Label texts; the parameters are the command's options."""
    screen = Screen(as_json=as_json, quiet=quiet)
    check_lines(file)  # told before torch is loaded
    from sklearn_hashnlp.cli._pipelines import load_classifier

    classifier = load_classifier(model)
    if file is not None and str(file) != "-":
        from sklearn_hashnlp.datasets._lines import name_inside

        if Path(name_inside(file)).suffix.lower() in _LABELLED_SUFFIXES:
            screen.note(f"Each line of {file} is taken as one text; for a labelled file there is hashnlp test.")
    with line_batches(screen, file, doing="Predicting", what="text") as batches:
        for texts in batches:
            sys.stdout.writelines(_answers(classifier, texts, top, threshold, proba=proba, as_json=as_json))
            sys.stdout.flush()


def _answers(
    classifier: Any, texts: list[str], top: int | None, threshold: float | None, *, proba: bool, as_json: bool
) -> Iterator[str]:
    """Yield the line that answers each text."""
    labels = classifier.classes_.tolist()
    probabilities = classifier.predict_proba(texts)
    at_most = top or (1 if threshold is None else len(labels))
    at_least = 0.0 if threshold is None else threshold
    best = (-probabilities).argsort(axis=1, kind="stable")[:, :at_most]
    for row, columns in zip(probabilities.tolist(), best.tolist(), strict=True):
        found = [(labels[column], row[column]) for column in columns if row[column] >= at_least]
        if as_json:
            entries = [{"label": label, "probability": probability} for label, probability in found]
            answer = entries[0] if entries else {"label": None, "probability": None}
            yield json.dumps(answer if top is None and threshold is None else answer | {"top": entries}) + "\n"
        elif proba:
            yield "\t".join(f"{_one_field(label)}\t{probability:.4f}" for label, probability in found) + "\n"
        else:
            yield "\t".join(_one_field(label) for label, _ in found) + "\n"


def _one_field(label: object) -> str:
    """Keep a label from breaking the line that it stands in."""
    return str(label).replace("\t", " ").replace("\n", " ").replace("\r", " ")
