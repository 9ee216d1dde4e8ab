"""``hashnlp test``: test a classifier on a labeled file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LabelledFile, LabelledOptions, ModelFolder
from sklearn_hashnlp.cli._pipelines import last_step, load_classifier
from sklearn_hashnlp.cli._reading import (
    TABLES,
    check_text_file,
    label_lists,
    note_unknown_labels,
    read_labelled,
)
from sklearn_hashnlp.cli._screen import Screen, counted, plain_table
from sklearn_hashnlp.cli._training_report import read_report

_MAX_MATRIX_LABELS = 12
_MAX_CONFUSIONS = 10
_MAX_LABELS = 40
_THRESHOLD = 0.5


@reporting_errors
def evaluate(
    data: LabelledFile,
    model: ModelFolder,
    reading: LabelledOptions,
    screen: Screen,
    top: int | None = typer.Option(
        None, "--top", "-k", metavar="K", min=1, help="Print precision and recall at K."
    ),
) -> None:
    """Test a model on labeled texts.

      hashnlp test test.csv --model spam
      hashnlp test cooking.valid --model cooking --top 5
      hashnlp test test.csv --model spam --json > report.json
      hashnlp test test.csv --model spam --quiet

    Printed are the accuracy; for each label the precision (fraction of the texts with this
    predicted label that are correct), the recall (fraction of the texts with this true label that
    are predicted), F1 (their harmonic mean) and the number of texts; and the confusion matrix, or
    for many labels the most frequent confusions.

    If texts have multiple labels, or with --top K, also N, P@K and R@K are printed as by fastText:
    the number of texts, the fraction of the K most probable labels that are true, and the fraction
    of the true labels among them. The table then has the labels of probability 0.5 or more. --quiet
    prints the accuracy or P@1, and with --top K only these figures.
    """
    classifier = load_classifier(model)
    from sklearn_hashnlp.cli._fit_classifier import scores_at
    from sklearn_hashnlp.datasets import TextReader

    check_text_file(data)
    separator = read_report(model).get("label_separator")
    is_table = TextReader(data, file_format=reading.file_format).file_format in TABLES
    if separator is not None and is_table and reading.label_separator is None:
        reading = replace(reading, label_separator=separator)
        screen.note(f"Labels are separated by {separator!r}, as in training.")
    classes = classifier.classes_.astype(str)
    read = read_labelled(screen, data, reading, classes=classes.tolist())
    true = label_lists(read.target)
    note_unknown_labels(screen, data, true, classes.tolist())
    probabilities = classifier.predict_proba(read.data)
    multilabel = last_step(classifier).multilabel_ or isinstance(read.target, list)
    if multilabel:
        predicted = [classes[row].tolist() for row in probabilities >= _THRESHOLD]
    else:
        predicted = classes[probabilities.argmax(axis=1)][:, None].tolist()
    report = compute_metrics(true, predicted, multilabel=multilabel)
    at = sorted({1, min(top or 1, len(classes))}) if multilabel or top else []
    for k in at:
        scores = scores_at(true, probabilities, classes, k)
        report |= {f"{name}_at_{k}": value for name, value in scores.items()}
    if screen.as_json:
        screen.show_json(report)
        return
    if screen.quiet and not top:
        print(f"{report['precision_at_1'] if multilabel else report['accuracy']:.4f}")
        return
    if at:  # tabs, as fastText's: a console of rich would write spaces
        print(f"N\t{report['n_labeled'] if multilabel else report['n_texts']}")
        for k in at:
            print(
                f"P@{k}\t{report[f'precision_at_{k}']:.4f}\nR@{k}\t{report[f'recall_at_{k}']:.4f}"
            )
    if not screen.quiet:
        if at:
            print()
        show_report(screen, report)


def compute_metrics(
    true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, multilabel: bool
) -> dict[str, Any]:
    """Compute the metrics of predicted labels, and for one label per text the confusion matrix."""
    # Not by scikit-learn's functions, which take an indicator matrix of one label for labels of
    # another kind.
    pairs = [(set(one), set(other)) for one, other in zip(true, predicted, strict=True)]
    expected = Counter(label for one, _ in pairs for label in one)
    returned = Counter(label for _, other in pairs for label in other)
    hits = Counter(label for one, other in pairs for label in one & other)
    labels = {
        name: {
            "precision": hits[name] / max(returned[name], 1),
            "recall": hits[name] / max(expected[name], 1),
            "f1": 2 * hits[name] / (returned[name] + expected[name]),
            "support": expected[name],
        }
        for name in sorted(expected | returned)
    }
    report = {
        "accuracy": sum(one == other for one, other in pairs) / len(pairs),
        "n_texts": len(pairs),
        "macro_f1": sum(scores["f1"] for scores in labels.values()) / max(len(labels), 1),
        "labels": labels,
    }
    if multilabel:
        report["n_labeled"] = sum(1 for one, _ in pairs if one)
        report["micro_f1"] = 2 * hits.total() / max(returned.total() + expected.total(), 1)
    else:
        cells = Counter((one, other) for (one,), (other,) in zip(true, predicted, strict=True))
        counts = [[cells[one, other] for other in labels] for one in labels]
        report["confusion_matrix"] = {"labels": [*labels], "counts": counts}
    return report


def show_report(screen: Screen, report: dict[str, Any]) -> None:
    """Print the metrics as tables; if multilabel, the scores of the most frequent labels."""
    multilabel = "micro_f1" in report
    name = "All labels correct" if multilabel else "Accuracy"
    of = "of" if multilabel else "on"
    screen.show(
        f"{name} {report['accuracy']:.4f} {of} {counted(report['n_texts'], 'text')}\n", style="bold"
    )
    labels = report["labels"]
    if multilabel:
        labels = dict(
            sorted(labels.items(), key=lambda item: (-item[1]["support"], item[0]))[:_MAX_LABELS]
        )
    table = plain_table("label", ">precision", ">recall", ">F1", ">texts")
    for name, scores in labels.items():
        table.add_row(
            name,
            *(f"{scores[key]:.4f}" for key in ("precision", "recall", "f1")),
            f"{scores['support']:,}",
        )
    table.add_section()
    for name in ("micro", "macro"):
        if f"{name}_f1" in report:
            table.add_row(f"{name} F1", "", "", f"{report[f'{name}_f1']:.4f}", "")
    screen.show(table)
    if len(labels) < len(report["labels"]):
        screen.show(
            f"The {len(labels)} most frequent of {len(report['labels']):,} labels; --json has all"
        )
    if not multilabel:
        screen.show(_confusions(**report["confusion_matrix"]))


def _confusions(labels: list[str], counts: list[list[int]]) -> Any:
    """Return the confusion matrix, or for many labels the most frequent confusions."""
    if len(labels) <= _MAX_MATRIX_LABELS:
        columns = [f">{name}" for name in labels]
        table = plain_table("true \\ predicted", *columns, title="\nConfusion matrix")
        for name, row in zip(labels, counts, strict=True):
            table.add_row(name, *(str(count) if count else "." for count in row))
        return table
    table = plain_table("true", "predicted", ">texts", title="\nMost frequent confusions")
    wrong = [
        (count, true, predicted)
        for true, row in zip(labels, counts, strict=True)
        for predicted, count in zip(labels, row, strict=True)
        if count and true != predicted
    ]
    for count, true, predicted in sorted(wrong, key=lambda entry: -entry[0])[:_MAX_CONFUSIONS]:
        table.add_row(true, predicted, str(count))
    return table
