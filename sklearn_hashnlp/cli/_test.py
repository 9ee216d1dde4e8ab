"""``hashnlp test``: test a classifier on a labeled file."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._options import (
    Delimiter,
    Errors,
    Format,
    Json,
    LabelColumn,
    LabelledFile,
    LabelPrefix,
    LabelSeparator,
    ModelFolder,
    Quiet,
    Quoted,
    ReadErrors,
    TextColumn,
)
from sklearn_hashnlp.cli._screen import Screen

HELP = """\
Test a model on labeled texts.

\b
  hashnlp test test.csv --model spam
  hashnlp test test.csv --model spam --json > report.json
  hashnlp test test.csv --model spam --quiet          only the accuracy

It prints the accuracy; for each label the precision (fraction of the texts with this predicted label that are \
correct), the recall (fraction of the texts with this true label that are predicted), F1 (their harmonic mean) and the \
number of texts; and the confusion matrix, or for many labels the most frequent confusions.
"""

_MAX_MATRIX_LABELS = 12
_MAX_CONFUSIONS = 10


@reporting_errors
def evaluate(
    data: LabelledFile,
    model: ModelFolder,
    file_format: Format = None,
    text_column: TextColumn = None,
    label_column: LabelColumn = None,
    delimiter: Delimiter = None,
    quoted: Quoted = True,
    label_prefix: LabelPrefix = "__label__",
    label_separator: LabelSeparator = None,
    errors: ReadErrors = Errors.strict,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test a classifier; the parameters are the options of the command."""
    screen = Screen(as_json=as_json, quiet=quiet)
    from sklearn_hashnlp.cli._pipelines import load_classifier, predict_proba, read_labelled

    classifier = load_classifier(model)
    texts, labels = read_labelled(
        screen,
        data,
        file_format=file_format,
        text_column=text_column,
        label_column=label_column,
        delimiter=delimiter,
        quoted=quoted,
        label_prefix=label_prefix,
        label_separator=label_separator,
        errors=errors.value,
        multilabel=False,
    )
    predicted = classifier.classes_[predict_proba(screen, classifier, texts).argmax(axis=1)].astype(str)
    report = compute_metrics(labels, predicted)
    unknown = sorted(set(labels.tolist()) - set(classifier.classes_.astype(str).tolist()))
    if unknown:
        names = ", ".join(unknown[:5]) + (", ..." if len(unknown) > 5 else "")
        screen.note(f"Labels of {data} that the model was not trained on and never predicts: {names}")
    if as_json:
        screen.show_json(report)
    elif quiet:
        print(f"{report['accuracy']:.4f}")
    else:
        show_report(screen, report)


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


def show_report(screen: Screen, report: dict[str, Any]) -> None:
    """Print the metrics as tables."""
    screen.show(f"Accuracy {report['accuracy']:.4f} on {report['n_texts']:,} texts\n", style="bold")
    table = Table("label", box=None, pad_edge=False)
    for heading in ("precision", "recall", "F1", "texts"):
        table.add_column(heading, justify="right")
    for name, scores in report["labels"].items():
        metrics = [f"{scores[key]:.4f}" for key in ("precision", "recall", "f1")]
        table.add_row(name, *metrics, f"{scores['support']:,}")
    table.add_section()
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
