"""``hashnlp info``: describe a saved model."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from sklearn_hashnlp.cli._errors import reporting_errors
from sklearn_hashnlp.cli._pipelines import last_step
from sklearn_hashnlp.cli._screen import Screen, counted, plain_table
from sklearn_hashnlp.cli._training_report import read_report

_PARAMETERS = (
    *(
        "features",
        "lowercase",
        "loss",
        "learning_rate",
        "max_epochs",
        "embedding_dim",
        "random_state",
    ),
    *("word_ngrams", "min_n", "max_n", "bucket"),  # of models of fastText
)
_FIGURES = (
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "precision_at_1",
    "recall_at_1",
    "micro_f1",
)


@reporting_errors
def info(
    screen: Screen,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the model.")],
    top: int = typer.Option(
        20, "--top", "-k", metavar="K", min=1, help="Print the K most frequent labels."
    ),
) -> None:
    """Describe a saved model: its labels, when and with what it was trained, and its size.

      hashnlp info spam
      hashnlp info spam --top 100
      hashnlp info spam --json | jq .labels

    The number of texts of each label, the data, the versions and the validation figures are read
    from training.json, which hashnlp train writes into the folder. For a model that was saved in
    Python they are missing.
    """
    # with --quiet, too: there are no hints here
    screen = Screen(as_json=screen.as_json, quiet=False)
    from sklearn_hashnlp.persistence import load_model

    model = load_model(folder)
    try:
        description = _describe(model, folder, read_report(folder))
        rows = _rows(description)
    except (AttributeError, KeyError, TypeError, ValueError):  # anybody may have written the report
        description = _describe(model, folder, {})
        rows = _rows(description)
    if screen.as_json:
        screen.show_json(description)
        return
    table = plain_table("", "")
    for row in rows:
        table.add_row(*row)
    screen.show(table)
    labels = description["labels"]
    if labels:
        column = ">" if None in labels.values() else ">training texts"
        table = plain_table("label", column, title=f"\n{counted(len(labels), 'label')}")
        for label, count in list(labels.items())[:top]:
            table.add_row(label, "" if count is None else f"{count:,}")
        screen.show(table)
    if len(labels) > top:
        screen.show(f"... and {len(labels) - top:,} more (--top)")


def _describe(model: Any, folder: Path, report: dict[str, Any]) -> dict[str, Any]:
    """Describe a model from its attributes, its files and the report of its training."""
    estimator = last_step(getattr(model, "pipeline_", model))
    vectorizer = model.steps[0][1] if hasattr(model, "steps") else model
    n_words = len(getattr(estimator, "vocabulary_", ())) or getattr(vectorizer, "n_words_", 0)
    parameters = estimator.get_params(deep=False)
    if not hasattr(model, "steps"):
        parameters |= {
            name: value for name, value in model.get_params(deep=False).items() if value is not None
        }
    elif n_words:
        parameters |= vectorizer.get_params(deep=False)
    files = {path.name: path.stat().st_size for path in sorted(folder.iterdir()) if path.is_file()}
    saved = datetime.fromtimestamp(max(path.stat().st_mtime for path in folder.iterdir()), UTC)
    names = [str(label) for label in getattr(estimator, "classes_", [])]
    counts = report.get("labels", {})
    is_whole = set(counts) == set(names) and all(
        isinstance(count, int) for count in counts.values()
    )
    return {
        "date": saved.isoformat(timespec="seconds"),
        **report,
        "folder": str(folder),
        "model": type(model).__name__,
        "estimator": type(estimator).__name__,
        "n_parameters": getattr(estimator, "n_parameters_", None),
        "n_words": n_words,
        "n_ngrams": list(getattr(estimator, "n_ngrams_", ())),
        "bytes": sum(files.values()),
        "files": files,
        "pretrained": _pretrained(model),
        "labels": counts if is_whole else dict.fromkeys(names),
        "parameters": {
            name: value
            for name, value in parameters.items()
            if isinstance(value, str | int | float)
        },
    }


def _pretrained(model: Any) -> str | None:
    """Return the name of the encoder that was given, or of its class."""
    encoder = getattr(model, "pretrained", None)
    return encoder if isinstance(encoder, str | None) else type(encoder).__name__


def _rows(description: dict[str, Any]) -> list[tuple[str, str]]:
    """Return names and values of the table."""
    kind, estimator = description["model"], description["estimator"]
    rows = [
        ("Model", kind if kind == estimator else f"{kind} with {estimator}"),
        ("Saved", str(description["date"])),
    ]
    if description["n_parameters"] is not None:
        rows.append(("Parameters", f"{description['n_parameters']:,}"))
    if description["n_words"]:
        rows.append(("Vocabulary", counted(description["n_words"], "word")))
    if description["n_ngrams"]:
        rows.append(("n-grams", " + ".join(f"{number:,}" for number in description["n_ngrams"])))
    rows.append(("Size", f"{counted(description['bytes'], 'byte')}"))
    if "data" in description:
        rows.append(
            ("Training data", f"{description['data']}: {counted(description['n_texts'], 'text')}")
        )
        history = description["history"]
        epochs = (
            ""
            if any("objective" in entry for entry in history)
            else f", {counted(len(history), 'epoch')}"
        )
        rows.append(("Training time", f"{description['seconds']:.1f} s{epochs}"))
    if "unlabeled" in description:
        texts = description["unlabeled"]
        rows.append(("Unlabeled texts", f"{texts['data']}: {counted(texts['n_texts'], 'text')}"))
    if description["pretrained"] is not None:
        rows.append(("Pretrained", description["pretrained"]))
    validation = description.get("validation")
    if validation:
        figures = [
            f"{name.replace('_', ' ')} {validation[name]:.4f}"
            for name in _FIGURES
            if name in validation
        ]
        rows.append(
            (
                "Validation",
                f"{', '.join(figures)} on {counted(validation['n_texts'], 'text')} "
                f"({validation['data']})",
            )
        )
    if description.get("best_epoch") is not None:
        rows.append(("Early stopping", f"best epoch {description['best_epoch']}"))
    parameters = description["parameters"]
    rows += [(name, str(parameters[name])) for name in _PARAMETERS if name in parameters]
    if "versions" in description:
        rows.append(
            (
                "Versions",
                ", ".join(f"{name} {number}" for name, number in description["versions"].items()),
            )
        )
    return rows
