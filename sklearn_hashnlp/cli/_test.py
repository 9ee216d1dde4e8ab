"""``hashnlp test``: how good a model is on a labelled file."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import Format, Json, LabelColumn, LabelledFile, ModelFolder, Quiet, Quoted, TextColumn
from sklearn_hashnlp.cli._screen import Screen

HELP = """\
Measure a model on texts whose labels are known.

\b
  hashnlp test test.csv --model spam
  hashnlp test test.csv --model spam --json > report.json
  hashnlp test test.csv --model spam --quiet          only the accuracy

It prints the accuracy; for each label precision (how many of the texts given this label have it), \
recall (how many of the texts with this label were given it), F1 (both in one number) and the number of texts; \
and the confusion matrix, or for many labels the most frequent confusions.
"""

_WIDEST_MATRIX = 12
_MOST_CONFUSIONS = 10


@reporting_errors
def evaluate(
    data: LabelledFile,
    model: ModelFolder,
    file_format: Format = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    quoted: Quoted = True,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compute a model; the parameters are the command's options."""
    screen = Screen(as_json=as_json, quiet=quiet)
    from sklearn_hashnlp.cli._pipelines import load_classifier, predict_proba, read_labelled

    classifier = load_classifier(model)
    texts, labels = read_labelled(
        screen, data, file_format=file_format, text_column=text_column, label_column=label_column, quoted=quoted
    )
    found = classifier.classes_[predict_proba(screen, classifier, texts).argmax(axis=1)].astype(str)
    report = measure(labels, found)
    unknown = sorted(set(labels.tolist()) - set(classifier.classes_.astype(str).tolist()))
    if unknown:
        some = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        screen.note(f"The model does not know, and never finds, these labels of {data}: {some}")
    if as_json:
        screen.put_json(report)
    elif quiet:
        print(f"{report['accuracy']:.4f}")
    else:
        show_report(screen, report)


def measure(true: Any, found: Any) -> dict[str, Any]:
    """Compute everything that ``hashnlp test`` reports."""
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    names = sorted(set(true.tolist()) | set(found.tolist()))
    scores = precision_recall_fscore_support(true, found, labels=names, zero_division=0.0)
    # scikit-learn's counts turn into floats where a label has no true texts.
    columns = [*(column.tolist() for column in scores[:3]), scores[3].astype(int).tolist()]
    return {
        "accuracy": float((true == found).mean()),
        "n_texts": len(true),
        "macro_f1": float(scores[2].mean()),
        "labels": {
            name: dict(zip(("precision", "recall", "f1", "support"), values, strict=True))
            for name, *values in zip(names, *columns, strict=True)
        },
        "confusion_matrix": {"labels": names, "counts": confusion_matrix(true, found, labels=names).tolist()},
    }


def show_report(screen: Screen, report: dict[str, Any]) -> None:
    """Print a report as tables."""
    screen.show(f"Accuracy {report['accuracy']:.4f} on {report['n_texts']:,} texts\n", style="bold")
    table = Table("label", box=None, pad_edge=False)
    for heading in ("precision", "recall", "F1", "texts"):
        table.add_column(heading, justify="right")
    for name, scores in report["labels"].items():
        shares = [f"{scores[key]:.4f}" for key in ("precision", "recall", "f1")]
        table.add_row(name, *shares, f"{scores['support']:,}")
    table.add_section()
    table.add_row("mean F1 of the labels", "", "", f"{report['macro_f1']:.4f}", "")
    screen.show(table)
    names, counts = report["confusion_matrix"]["labels"], report["confusion_matrix"]["counts"]
    if len(names) <= _WIDEST_MATRIX:
        matrix = Table("true \\ found", box=None, pad_edge=False, title="\nConfusion matrix", title_justify="left")
        for name in names:
            matrix.add_column(name, justify="right")
        for name, row in zip(names, counts, strict=True):
            matrix.add_row(name, *(str(count) if count else "." for count in row))
        screen.show(matrix)
        return
    wrong = [
        (count, true, found)
        for true, row in zip(names, counts, strict=True)
        for found, count in zip(names, row, strict=True)
        if count and true != found
    ]
    confusions = Table(
        "true", "found", box=None, pad_edge=False, title="\nMost frequent confusions", title_justify="left"
    )
    confusions.add_column("texts", justify="right")
    for count, true, found in sorted(wrong, key=lambda entry: -entry[0])[:_MOST_CONFUSIONS]:
        confusions.add_row(true, found, str(count))
    screen.show(confusions)
