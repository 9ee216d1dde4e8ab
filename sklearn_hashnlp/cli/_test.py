"""``hashnlp test``: test a classifier on a labeled file."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import LabelledFile, LabelledOptions, ModelFolder
from sklearn_hashnlp.cli._screen import Screen, counted
from sklearn_hashnlp.cli._training_report import read_report

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sklearn_hashnlp.cli.reading._labelled_texts import LabelledTexts

HELP = """\
Test a model on labeled texts.

\b
  hashnlp test test.csv --model spam
  hashnlp test test.csv --model spam --wrong wrong.csv
  hashnlp test cooking.valid --model cooking --top 5
  hashnlp test test.csv --model spam --json > report.json
  hashnlp test test.csv --model spam --quiet

It prints the accuracy; for each label the precision (fraction of the texts with this predicted label that are \
correct), the recall (fraction of the texts with this true label that are predicted), F1 (their harmonic mean) and the \
number of texts; and the confusion matrix, or for many labels the most frequent confusions.

Where texts have several labels, and with --top K, it prints N, P@K and R@K as fastText does: the fraction of the K \
most probable labels that are true, and the fraction of the true labels among them. The table is then of the labels of \
probability 0.5 or more. --quiet prints the accuracy or P@1, and with --top K these figures.
"""

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
    top: Annotated[
        int | None,
        typer.Option("--top", "-k", metavar="K", min=1, help="Print precision and recall at K.", show_default=False),
    ] = None,
    wrong: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the texts that are predicted wrongly, the most confident errors first: .csv, .tsv or .jsonl.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Test a classifier; the parameters are the options of the command."""
    if wrong is not None and wrong.suffix.lower() not in (".csv", ".tsv", ".jsonl"):
        raise typer.BadParameter(f"--wrong: expected a name in .csv, .tsv or .jsonl, got {str(wrong)!r}.")
    from sklearn_hashnlp.persistence._folder_files import check_model_folder

    check_model_folder(model)  # before torch is loaded
    from sklearn_hashnlp.cli._pipelines import is_multilabel, load_classifier, predict_proba
    from sklearn_hashnlp.cli._validation import scores_at
    from sklearn_hashnlp.cli.reading._labelled_texts import label_lists, note_unknown_labels, read_labelled
    from sklearn_hashnlp.datasets._labelled import find_format

    classifier = load_classifier(model)
    table = find_format(data, reading.file_format) != "fasttext"
    label_separator = reading.label_separator
    if label_separator is None and table:
        label_separator = read_report(model).get("label_separator")
        if label_separator is not None:
            screen.note(f"Labels are separated by {label_separator!r}, as in training.")
    data_read = read_labelled(screen, data, **vars(replace(reading, label_separator=label_separator)))
    classes = classifier.classes_.astype(str)
    true = label_lists(data_read.labels)
    note_unknown_labels(screen, str(data), true, set(classes.tolist()), separable=table and label_separator is None)
    probabilities = predict_proba(screen, classifier, data_read.texts)
    several = is_multilabel(classifier) or isinstance(data_read.labels, list)
    if several:
        predicted = [classes[row].tolist() for row in probabilities >= _THRESHOLD]
        report = compute_multilabel_metrics(true, predicted)
    else:
        labels = classes[probabilities.argmax(axis=1)]
        predicted = labels[:, None].tolist()
        report = compute_metrics(data_read.labels, labels)
    at = sorted({1, min(top or 1, len(classes))}) if several or top else []
    report |= {
        f"{name}_at_{k}": value for k in at for name, value in scores_at(true, probabilities, classes, k).items()
    }
    if wrong is not None:
        n_wrong = write_wrong(wrong, data_read, true, predicted, probabilities.max(axis=1))
        screen.note(f"Wrote {n_wrong:,} of {counted(len(true), 'text')} to {wrong}")
    if screen.as_json:
        screen.show_json(report)
    elif screen.quiet and not top:
        print(f"{report['precision_at_1'] if several else report['accuracy']:.4f}")
    else:
        if at:  # tabs, as fastText's: a console of rich would write spaces
            print(f"N\t{report['n_labeled'] if several else report['n_texts']}")
            for k in at:
                print(f"P@{k}\t{report[f'precision_at_{k}']:.4f}\nR@{k}\t{report[f'recall_at_{k}']:.4f}")
        if screen.quiet:
            return
        if at:
            print()
        (show_multilabel_report if several else show_report)(screen, report)


def write_wrong(
    path: Path,
    data: LabelledTexts,
    true: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    confidence: NDArray[np.float64],
) -> int:
    """Write the texts whose labels are not those predicted; return their number."""
    from sklearn_hashnlp.cli._prediction_output import SEPARATOR

    wrong = [row for row in range(len(true)) if set(true[row]) != set(predicted[row])]
    wrong.sort(key=lambda row: -confidence[row])
    with path.open("w", encoding="utf-8", newline="") as file:
        if path.suffix.lower() == ".jsonl":
            for row in wrong:
                entry = {"line": data.lines[row], "label": true[row], "predicted_label": predicted[row]}
                entry |= {"probability": float(confidence[row]), "text": data.texts[row]}
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            return len(wrong)
        delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
        table = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        table.writerow(["line", "label", "predicted_label", "probability", "text"])
        for row in wrong:
            labels = (SEPARATOR.join(true[row]), SEPARATOR.join(predicted[row]))
            table.writerow([data.lines[row], *labels, f"{confidence[row]:.4f}", data.texts[row]])
    return len(wrong)


def compute_metrics(true: Any, predicted: Any) -> dict[str, Any]:
    """Compute the metrics and the confusion matrix of predicted labels."""
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    names = sorted(set(true.tolist()) | set(predicted.tolist()))
    scores = precision_recall_fscore_support(true, predicted, labels=names, zero_division=0.0)
    # scikit-learn's counts are floats if every true label is unknown.
    columns = [*(column.tolist() for column in scores[:3]), scores[3].astype(int).tolist()]
    return {
        "accuracy": float((true == predicted).mean()),
        "n_texts": len(true),
        "macro_f1": float(scores[2].mean()),
        "labels": {
            name: dict(zip(("precision", "recall", "f1", "support"), values, strict=True))
            for name, *values in zip(names, *columns, strict=True)
        },
        "confusion_matrix": {"labels": names, "counts": confusion_matrix(true, predicted, labels=names).tolist()},
    }


def compute_multilabel_metrics(true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Compute the metrics of predicted sets of labels.

    Not by scikit-learn's functions, which take an indicator matrix of one label for labels of another kind.
    """
    pairs = [(set(one), set(other)) for one, other in zip(true, predicted, strict=True)]
    expected = Counter(label for one, _ in pairs for label in one)
    found = Counter(label for _, other in pairs for label in other)
    hits = Counter(label for one, other in pairs for label in one & other)
    labels = {
        name: {
            "precision": hits[name] / max(found[name], 1),
            "recall": hits[name] / max(expected[name], 1),
            "f1": 2 * hits[name] / (found[name] + expected[name]),
            "support": expected[name],
        }
        for name in sorted(expected | found)
    }
    return {
        "accuracy": sum(one == other for one, other in pairs) / len(pairs),
        "n_texts": len(pairs),
        "n_labeled": sum(1 for one, _ in pairs if one),
        "micro_f1": 2 * hits.total() / max(found.total() + expected.total(), 1),
        "macro_f1": sum(scores["f1"] for scores in labels.values()) / max(len(labels), 1),
        "labels": labels,
    }


def show_multilabel_report(screen: Screen, report: dict[str, Any]) -> None:
    """Print the metrics of predicted sets of labels, those of the most frequent labels."""
    screen.show(f"All labels correct {report['accuracy']:.4f} of {counted(report['n_texts'], 'text')}\n", style="bold")
    labels = dict(sorted(report["labels"].items(), key=lambda item: (-item[1]["support"], item[0]))[:_MAX_LABELS])
    table = _scores_table(labels)
    for name in ("micro", "macro"):
        table.add_row(f"{name} F1", "", "", f"{report[f'{name}_f1']:.4f}", "")
    screen.show(table)
    if len(labels) < len(report["labels"]):
        screen.show(f"The {len(labels)} most frequent of {len(report['labels']):,} labels; --json has all")


def _scores_table(labels: dict[str, dict[str, float]]) -> Table:
    table = Table("label", box=None, pad_edge=False)
    for heading in ("precision", "recall", "F1", "texts"):
        table.add_column(heading, justify="right")
    for name, scores in labels.items():
        metrics = [f"{scores[key]:.4f}" for key in ("precision", "recall", "f1")]
        table.add_row(name, *metrics, f"{scores['support']:,}")
    table.add_section()
    return table


def show_report(screen: Screen, report: dict[str, Any]) -> None:
    """Print the metrics as tables."""
    screen.show(f"Accuracy {report['accuracy']:.4f} on {counted(report['n_texts'], 'text')}\n", style="bold")
    table = _scores_table(report["labels"])
    table.add_row("macro F1", "", "", f"{report['macro_f1']:.4f}", "")
    screen.show(table)
    names, counts = report["confusion_matrix"]["labels"], report["confusion_matrix"]["counts"]
    if len(names) <= _MAX_MATRIX_LABELS:
        matrix = Table("true \\ predicted", box=None, pad_edge=False, title="\nConfusion matrix", title_justify="left")
        for name in names:
            matrix.add_column(name, justify="right")
        for name, row in zip(names, counts, strict=True):
            matrix.add_row(name, *(str(count) if count else "." for count in row))
        screen.show(matrix)
        return
    wrong = [
        (count, true, predicted)
        for true, row in zip(names, counts, strict=True)
        for predicted, count in zip(names, row, strict=True)
        if count and true != predicted
    ]
    confusions = Table(
        "true", "predicted", box=None, pad_edge=False, title="\nMost frequent confusions", title_justify="left"
    )
    confusions.add_column("texts", justify="right")
    for count, true, predicted in sorted(wrong, key=lambda entry: -entry[0])[:_MAX_CONFUSIONS]:
        confusions.add_row(true, predicted, str(count))
    screen.show(confusions)
