"""Classifier pipelines with progress bars: reading data, training, predicting, loading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.cli._screen import Screen, add_bar
from sklearn_hashnlp.cli._text_formats import SkippedRows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sklearn_hashnlp.classifiers._make_text_classifier import Features
    from sklearn_hashnlp.training._parameters import Device

# A bar moves after every batch.
_N_BATCHES = 50
_MIN_BATCH_SIZE = 500
_PREDICTION_BATCH_SIZE = 2000


def read_labelled(
    screen: Screen,
    path: Path,
    *,
    multilabel: bool | None = None,
    file_format: str | None = None,
    text_column: str | None = None,
    label_column: str | None = None,
    delimiter: str | None = None,
    quoted: bool = True,
    label_prefix: str = "__label__",
    label_separator: str | None = None,
    errors: str = "strict",
) -> tuple[list[str], Any]:
    """Read a labeled file with a progress bar; the labels are those of ``load_labelled``."""
    from sklearn_hashnlp.datasets._columns import Columns
    from sklearn_hashnlp.datasets._labelled import collect_rows, find_format, open_rows
    from sklearn_hashnlp.datasets._row_formats import RowFormat

    columns = Columns(text_column, label_column)
    row_format = RowFormat(find_format(path, file_format), columns, delimiter, quoted, label_prefix, label_separator)
    skipped = SkippedRows(screen)
    with screen.progress() as progress:
        rows = open_rows(
            path,
            row_format,
            multilabel=multilabel,
            errors="strict" if errors == "strict" else "replace",
            progress=add_bar(progress, f"Reading {path.name}"),
            on_error=skipped if errors == "skip" else None,
        )
        texts, labels = collect_rows(rows, path, multilabel)
    source = str(path) if rows.columns.text is None else f"columns {rows.columns.text}, {rows.columns.label} of {path}"
    screen.note(f"Read {len(texts):,} texts with {_describe_labels(labels)} from {source}")
    skipped.report()
    return texts, labels


def _describe_labels(labels: Any) -> str:
    if not isinstance(labels, list):
        return f"{len(set(labels.tolist())):,} labels"
    sizes = [len(row) for row in labels]
    names = {label for row in labels for label in row}
    return f"{len(names):,} labels, {min(sizes)} to {max(sizes)} each,"


def check_labels(labels: Any, source: str) -> None:
    """Raise an error if there is only one class, before anything is trained."""
    classes = {label for row in labels for label in row} if isinstance(labels, list) else set(labels.tolist())
    if len(classes) < 2:
        raise ValueError(f"{source}: expected at least two different labels, got only {classes.pop()!r}.")


def make_pipeline(
    *, seed: int, device: Device, n_jobs: int | None, epochs: int | None, features: Features = "words"
) -> Any:
    """Return the untrained model of ``hashnlp train``."""
    from sklearn_hashnlp.classifiers import make_text_classifier

    options: dict[str, Any] = {"n_jobs": n_jobs, "max_epochs": epochs}
    return make_text_classifier(
        features=features,
        device=device,
        random_state=seed,
        **{name: value for name, value in options.items() if value is not None},
    )


def train_pipeline(screen: Screen, pipeline: Any, texts: list[str], labels: NDArray[np.str_]) -> None:
    """Fit a pipeline with progress bars."""
    from scipy.sparse import vstack

    from sklearn_hashnlp.training._callbacks import EpochProgress

    features, classifier = pipeline[:-1], pipeline[-1]
    size = max(_MIN_BATCH_SIZE, -(-len(texts) // _N_BATCHES))
    with screen.progress() as progress:
        update = add_bar(progress, "Vectorizing")
        batches = []
        for start in range(0, len(texts), size):
            batches.append(features.transform(texts[start : start + size]))
            update(min(start + size, len(texts)), len(texts))
        rows = vstack(batches, format="csr")
        del batches
        callbacks = classifier.callbacks
        classifier.set_params(callbacks=[*(callbacks or []), EpochProgress(screen.note, add_bar(progress, "Training"))])
        try:
            classifier.fit(rows, labels)
        finally:
            classifier.set_params(callbacks=callbacks)  # not saved with the model


def predict_proba(screen: Screen, model: Any, texts: list[str]) -> NDArray[np.float64]:
    """Return the class probabilities of texts, with a progress bar."""
    import numpy as np

    with screen.progress() as progress:
        update = add_bar(progress, "Predicting")
        batches = []
        for start in range(0, len(texts), _PREDICTION_BATCH_SIZE):
            batches.append(model.predict_proba(texts[start : start + _PREDICTION_BATCH_SIZE]))
            update(min(start + _PREDICTION_BATCH_SIZE, len(texts)), len(texts))
    return np.concatenate(batches)


def load_classifier(folder: Path) -> Any:
    """Load a text classifier; raise an error for another model, or one that reads files."""
    from sklearn_hashnlp import HsigmoidLanguageModel
    from sklearn_hashnlp.persistence import load_model

    model = load_model(folder)
    if isinstance(model, HsigmoidLanguageModel):
        raise ValueError(f"{folder} is a language model, not a text classifier; use hashnlp lm.")
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{folder} is a {type(model).__name__}, not a text classifier.")
    for estimator in _estimators_in(model):
        if getattr(estimator, "input", "content") != "content":
            raise ValueError(
                f"{folder} contains a {type(estimator).__name__} with input={estimator.input!r}: it would open each "
                "text as a file name. Expected a model of texts."
            )
    return model


def is_multilabel(model: Any) -> bool:
    """Return whether a model predicts several labels for a text."""
    estimator = model[-1] if hasattr(model, "steps") else model
    labels = getattr(estimator, "_labels", None)
    return labels is not None and bool(labels.multilabel)


def _estimators_in(value: Any) -> Iterator[Any]:
    """Yield an estimator and all inside it; get_params(deep=True) hides one of two steps of the same name."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _estimators_in(item)
    elif hasattr(value, "get_params"):
        yield value
        yield from _estimators_in(list(value.get_params(deep=False).values()))
