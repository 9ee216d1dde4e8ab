"""Classifiers of texts with progress bars: making, training, predicting, loading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sklearn_hashnlp.cli._screen import Screen, add_bar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from sklearn_hashnlp.classifiers._make_text_classifier import Features
    from sklearn_hashnlp.cli._validation import ValidationScores

_PREDICTION_BATCH_SIZE = 2000


def make_model(
    *,
    features: Features = "auto",
    lowercase: bool = True,
    ngrams: int | None = None,
    loss: str = "auto",
    sgnn: bool = False,
    seed: int = 0,
    device: str = "cpu",
    n_jobs: int | None = None,
    **parameters: Any,
) -> Any:
    """Return the untrained model of ``hashnlp train``; parameters that are None keep the defaults of the class."""
    given = {name: value for name, value in parameters.items() if value is not None}
    given |= {"device": device, "random_state": seed}
    if loss != "auto":
        given["loss"] = loss
    if sgnn:
        from sklearn.pipeline import Pipeline

        from sklearn_hashnlp import CharNgramFeaturizer, SGNNClassifier, SGNNProjector

        threads = -1 if n_jobs is None else n_jobs
        steps = [
            ("featurizer", CharNgramFeaturizer(lowercase=lowercase, n_jobs=threads)),
            ("projector", SGNNProjector(n_jobs=threads)),
            ("classifier", SGNNClassifier(**given)),
        ]
        return Pipeline(steps)
    from sklearn_hashnlp.classifiers import TextClassifier

    if ngrams is not None:
        given["ngram_range"] = (1, ngrams)
    if n_jobs is not None:
        given["n_jobs"] = n_jobs
    return TextClassifier(features=features, lowercase=lowercase, **given)


def train_model(
    screen: Screen, model: Any, texts: list[str], labels: Any, validation: ValidationScores | None = None
) -> None:
    """Fit a model with progress bars, and print a line with the figures of each epoch."""
    from sklearn_hashnlp.classifiers._make_text_classifier import build_pipeline
    from sklearn_hashnlp.training._callbacks import EpochProgress

    is_pipeline = hasattr(model, "steps")
    with screen.warnings_as_notes(), screen.progress() as progress:
        shown = EpochProgress(screen.note, add_bar(progress, "Training"))  # without a length until texts are vectorized
        options: dict[str, Any] = {"callbacks": [shown]}
        if validation is not None:
            steps = model[:-1] if is_pipeline else build_pipeline(model.get_params(deep=False))[:-1]
            validation.vectorize(steps.fit(texts))  # as in training, so that it chooses the same features
            options["callbacks"].insert(0, validation)
            if validation.early_stopping is not None:
                options["callbacks"].append(validation.early_stopping)
        if is_pipeline:
            model[-1].set_params(**options)
        else:
            averages = validation is None or validation.early_stopping is None  # else the best weights are kept
            model._overrides = options if averages else options | {"schedule": None}
        try:
            model.fit(texts, labels)
        finally:
            vars(model).pop("_overrides", None)
    final_estimator(model).set_params(callbacks=None, schedule="auto")  # which are not saved with the model


def has_gradient_steps(model: Any, n_texts: int, n_labels: int) -> bool:
    """Return whether a model for so many texts is trained by gradients: only then it has a state after each epoch."""
    if hasattr(model, "steps"):
        return True
    from sklearn_hashnlp.classifiers._make_text_classifier import build_pipeline
    from sklearn_hashnlp.classifiers.hash_embedding._automatic import automatic_loss, choose_solver
    from sklearn_hashnlp.training._settings import resolve_device

    name = type(model).__name__
    loss = automatic_loss(n_texts, n_labels, multilabel=False) if model.loss == "auto" else model.loss
    parameters = build_pipeline(model.get_params(deep=False) | {"loss": loss})[-1].get_params(deep=False)
    device = resolve_device(model.device, caller=name)
    return choose_solver(parameters, loss, n_texts, n_labels, device, caller=name) == "sgd"


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

    with screen.progress() as progress:
        update = add_bar(progress, "Predicting")
        batches = []
        for start in range(0, len(texts), _PREDICTION_BATCH_SIZE):
            batches.append(model.predict_proba(texts[start : start + _PREDICTION_BATCH_SIZE]))
            update(min(start + _PREDICTION_BATCH_SIZE, len(texts)), len(texts))
    return np.concatenate(batches)


def load_classifier(folder: Path) -> Any:
    """Load a text classifier; raise an error for another model, or one that reads files."""
    from sklearn_hashnlp.language._base import BaseLanguageModel
    from sklearn_hashnlp.persistence import load_model

    model = load_model(folder)
    if isinstance(model, BaseLanguageModel):
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


def final_estimator(model: Any) -> Any:
    """Return the classifier inside a model of texts, or else the model itself."""
    model = getattr(model, "pipeline_", model)
    return model[-1] if hasattr(model, "steps") else model


def is_multilabel(model: Any) -> bool:
    """Return whether a model predicts several labels for a text."""
    labels = getattr(final_estimator(model), "_labels", None)
    return labels is not None and bool(labels.multilabel)


def _estimators_in(value: Any) -> Iterator[Any]:
    """Yield an estimator and all inside it; get_params(deep=True) hides one of two steps of the same name."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _estimators_in(item)
    elif hasattr(value, "get_params"):
        yield value
        yield from _estimators_in([*value.get_params(deep=False).values(), getattr(value, "pipeline_", None)])
