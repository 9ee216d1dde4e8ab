"""Classifiers of texts: making and loading."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def make_model(
    *, sgnn: bool = False, fasttext: bool = False, n_jobs: int | None = None, **parameters: Any
) -> Any:
    """Return an untrained TextClassifier, or a pipeline of another kind."""
    from sklearn_hashnlp.classifiers import TextClassifier, make_fasttext_classifier

    threads = -1 if n_jobs is None else n_jobs
    if fasttext:
        return make_fasttext_classifier(n_jobs=threads, **parameters)
    if not sgnn:
        return TextClassifier(n_jobs=threads, **parameters)
    from sklearn.pipeline import Pipeline

    from sklearn_hashnlp import CharNgramFeaturizer, SGNNClassifier, SGNNProjector

    steps = [
        ("featurizer", CharNgramFeaturizer(n_jobs=threads)),
        ("projector", SGNNProjector(n_jobs=threads)),
        ("classifier", SGNNClassifier(**parameters)),
    ]
    return Pipeline(steps)


def load_classifier(folder: Path, *, predict_only: bool = False) -> Any:
    """Load a text classifier; raise an error for another model, or one that reads files."""
    from sklearn_hashnlp.persistence import load_model

    model: Any = load_model(folder, predict_only=predict_only)
    if hasattr(model, "perplexity"):
        raise ValueError(f"{folder} is a language model, not a text classifier; use hashnlp lm.")
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{folder} is a {type(model).__name__}, not a text classifier.")
    for estimator in _estimators_in(model):
        if getattr(estimator, "input", "content") != "content":
            raise ValueError(
                f"{folder} contains a {type(estimator).__name__} with input={estimator.input!r}: "
                "it would open each text as a file name. Expected a model of texts."
            )
    return model


def last_step(model: Any) -> Any:
    """Return the classifier of a pipeline, or else the model itself."""
    return model[-1] if hasattr(model, "steps") else model


def predict_topk(
    model: Any, texts: list[str], k: int, threshold: float = 0.0
) -> list[list[tuple[Any, float]]]:
    """Return the most probable labels of each text with probabilities above a threshold."""
    rows: Any = texts
    if hasattr(model, "steps"):
        model, rows = model[-1], model[:-1].transform(texts)
    return model.predict_topk(rows, k, threshold)  # type: ignore[no-any-return]  # of any model


def _estimators_in(value: Any) -> Iterator[Any]:
    """Yield an estimator and all inside it, also steps of the same name."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from _estimators_in(item)
    elif hasattr(value, "get_params"):
        yield value
        yield from _estimators_in(
            [*value.get_params(deep=False).values(), getattr(value, "pipeline_", None)]
        )
