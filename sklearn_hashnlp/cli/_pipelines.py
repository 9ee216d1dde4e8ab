"""Classifiers of texts: making, training, predicting, loading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.cli._screen import Screen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sklearn_hashnlp.cli._validation import ValidationTexts

_PREDICTION_BATCH_SIZE = 2000


def make_model(
    *,
    sgnn: bool = False,
    fasttext: bool = False,
    seed: int = 0,
    device: str = "cpu",
    n_jobs: int | None = None,
    **parameters: Any,
) -> Any:
    """Return an untrained TextClassifier, or a pipeline of another kind; None keeps the default of a parameter."""
    given = {name: value for name, value in parameters.items() if value is not None}
    given |= {"device": device, "random_state": seed}
    threads = -1 if n_jobs is None else n_jobs
    if fasttext:
        from sklearn_hashnlp.classifiers import make_fasttext_classifier

        return make_fasttext_classifier(n_jobs=threads, random_state=seed, **parameters)
    if not sgnn:
        from sklearn_hashnlp.classifiers import TextClassifier

        return TextClassifier(n_jobs=threads, **given)
    from sklearn.pipeline import Pipeline

    from sklearn_hashnlp import CharNgramFeaturizer, SGNNClassifier, SGNNProjector

    steps = [
        ("featurizer", CharNgramFeaturizer(n_jobs=threads)),
        ("projector", SGNNProjector(n_jobs=threads)),
        ("classifier", SGNNClassifier(**given)),
    ]
    return Pipeline(steps)


def train_model(
    screen: Screen,
    model: Any,
    texts: list[str],
    labels: Any,
    validation: ValidationTexts | None = None,
    stopping: Any = None,
) -> None:
    """Fit a model with a progress bar, and print the figures of each epoch; ``stopping`` is a callback."""
    from sklearn_hashnlp._sklearn import final_estimator

    with screen.warnings_as_notes(), screen.bar("Training") as update:
        schedules: list[Any] = []

        def prepare(pipeline: Any) -> None:
            if stopping is None and not _has_epochs(pipeline[-1], labels):
                return
            from sklearn_hashnlp.cli._progress import Progress  # loads torch

            figures = None if validation is None else validation.with_features(pipeline[:-1]).figures
            progress = Progress(screen.note, update, figures)
            pipeline[-1].set_params(callbacks=[progress, *([] if stopping is None else [stopping])])
            if stopping is not None and pipeline is not model:  # the weights of the best epoch, not their average
                schedules.append(pipeline[-1].schedule)
                pipeline[-1].set_params(schedule=None)

        if hasattr(model, "steps"):
            prepare(model)
            model.fit(texts, labels)
        else:
            model._prepare = prepare
            try:
                model.fit(texts, labels)
            finally:
                del model._prepare
    final_estimator(model).set_params(callbacks=None)  # which are not saved with the model
    if schedules:
        final_estimator(model).set_params(schedule=schedules[0])


def _has_epochs(classifier: Any, labels: Any) -> bool:
    """Return whether a classifier may be trained by epochs, with a progress to show."""
    from sklearn_hashnlp.classifiers import HashEmbeddingClassifier
    from sklearn_hashnlp.classifiers.hash_embedding._auto_parameters import (
        choose_solver,
        has_few_rows,
        loss_of_few_rows,
    )

    multilabel, n_rows = isinstance(labels, list), len(labels)
    if not isinstance(classifier, HashEmbeddingClassifier) or not has_few_rows(n_rows):
        return True
    n_classes = 0 if multilabel else len(set(labels))
    loss = loss_of_few_rows(n_classes, multilabel=multilabel) if classifier.loss == "auto" else classifier.loss
    parameters = classifier.get_params(deep=False)
    solver = choose_solver(parameters, loss, n_rows, n_classes, classifier.device, caller=type(classifier).__name__)
    return solver == "sgd"


def with_typos(texts: list[str], labels: Any, distortion: float, seed: int) -> tuple[list[str], Any]:
    """Add a copy of each text with typos, if ``distortion`` is not 0."""
    if not distortion:
        return texts, labels
    import numpy as np

    from sklearn_hashnlp.text import distort_texts

    both = labels * 2 if isinstance(labels, list) else np.tile(labels, 2)
    return texts + distort_texts(texts, distortion, random_state=seed), both


def predict_proba(screen: Screen, model: Any, texts: list[str]) -> NDArray[np.float64]:
    """Return the class probabilities of texts, with a progress bar."""
    import numpy as np

    with screen.bar("Predicting") as update:
        batches = []
        for start in range(0, len(texts), _PREDICTION_BATCH_SIZE):
            batches.append(model.predict_proba(texts[start : start + _PREDICTION_BATCH_SIZE]))
            update(min(start + _PREDICTION_BATCH_SIZE, len(texts)), len(texts))
    return np.concatenate(batches)


def load_classifier(folder: Path) -> Any:
    """Load a text classifier; raise an error for another model, or one that reads files."""
    from sklearn_hashnlp.persistence import load_model

    return check_classifier(load_model(folder), folder)


def check_classifier(model: Any, folder: Path) -> Any:
    """Return a model that was loaded; raise an error if it is no text classifier, or reads files."""
    if hasattr(model, "perplexity"):
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


def last_step(model: Any) -> Any:
    """Return the classifier of a pipeline, or else the model itself."""
    return model[-1] if hasattr(model, "steps") else model


def _estimators_in(value: Any) -> Iterator[Any]:
    """Yield an estimator and all inside it; get_params(deep=True) hides one of two steps of the same name."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _estimators_in(item)
    elif hasattr(value, "get_params"):
        yield value
        yield from _estimators_in([*value.get_params(deep=False).values(), getattr(value, "pipeline_", None)])
