"""The long parts of the commands, each with its progress: reading, vectorising, training, predicting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sklearn_hashnlp.cli._errors import noticing_interrupts
from sklearn_hashnlp.cli._screen import Screen, bar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# Parts of the work between two movements of a bar.
_PARTS = 50
_SMALLEST_PART = 500
_ROWS_OF_A_PREDICTION = 2000


def read_labelled(screen: Screen, path: Path, **options: Any) -> tuple[list[str], NDArray[np.str_]]:
    """Read a labelled file behind a progress bar."""
    from sklearn_hashnlp.datasets import load_labelled

    with screen.progress() as progress:
        texts, labels = load_labelled(path, progress=bar(progress, f"Reading {path.name}"), **options)
    screen.note(f"Read {len(texts):,} texts with {len(set(labels.tolist())):,} labels from {path}")
    return texts, labels


def check_labels(labels: NDArray[np.str_], source: str) -> None:
    """Refuse data from which nothing can be learned, before anything else is done."""
    different = set(labels.tolist())
    if len(different) < 2:
        raise ValueError(
            f"{source}: expected at least two different labels to tell apart, found only {different.pop()!r}."
        )


def check_device(device: str) -> None:
    """Refuse a device that is not there, before a large file is read for it."""
    if device != "cuda":
        return
    import torch

    if not torch.cuda.is_available():
        raise typer.BadParameter(
            f"--device cuda: torch {torch.__version__} finds no CUDA device. Give auto to use one only where there is "
            "one, or cpu."
        )


def make_pipeline(*, seed: int, device: str, n_jobs: int | None, epochs: int | None, features: str = "words") -> Any:
    """Make the untrained model of ``hashnlp train``."""
    from sklearn_hashnlp.classifiers import make_text_classifier

    given: dict[str, Any] = {"n_jobs": n_jobs, "max_epochs": epochs}
    return make_text_classifier(
        features=features,
        device=device,
        random_state=seed,
        **{name: value for name, value in given.items() if value is not None},
    )


def train_pipeline(screen: Screen, pipeline: Any, texts: list[str], labels: NDArray[np.str_]) -> None:
    """Fit a pipeline, showing how far it is."""
    from scipy.sparse import vstack

    from sklearn_hashnlp.training._callbacks import EpochProgress

    features, classifier = pipeline[:-1], pipeline[-1]
    size = max(_SMALLEST_PART, -(-len(texts) // _PARTS))
    with noticing_interrupts(), screen.progress() as progress:
        move = bar(progress, "Vectorising")
        parts = []
        for start in range(0, len(texts), size):
            parts.append(features.transform(texts[start : start + size]))
            move(min(start + size, len(texts)), len(texts))
        rows = vstack(parts, format="csr")
        del parts
        callbacks = classifier.callbacks
        classifier.set_params(callbacks=[*(callbacks or []), EpochProgress(screen.note, bar(progress, "Training"))])
        try:
            classifier.fit(rows, labels)
        finally:
            classifier.set_params(callbacks=callbacks)  # a saved model has no use for them


def predict_proba(screen: Screen, model: Any, texts: list[str]) -> NDArray[np.float64]:
    """Compute class probabilities behind a progress bar."""
    import numpy as np

    with screen.progress() as progress:
        move = bar(progress, "Predicting")
        parts = []
        for start in range(0, len(texts), _ROWS_OF_A_PREDICTION):
            parts.append(model.predict_proba(texts[start : start + _ROWS_OF_A_PREDICTION]))
            move(min(start + _ROWS_OF_A_PREDICTION, len(texts)), len(texts))
    return np.concatenate(parts)


def load_classifier(folder: Path) -> Any:
    """Load a model that can classify."""
    from sklearn_hashnlp import HsigmoidLanguageModel
    from sklearn_hashnlp.persistence import load_model

    model = load_model(folder)
    if isinstance(model, HsigmoidLanguageModel):
        raise ValueError(f"{folder} holds a language model, which does not classify texts; for it there is hashnlp lm.")
    if not hasattr(model, "predict_proba"):
        raise ValueError(f"{folder} holds a {type(model).__name__} that does not classify texts.")
    for estimator in _estimators_in(model):
        if getattr(estimator, "input", "content") != "content":
            raise ValueError(
                f"{folder} holds a {type(estimator).__name__} with input={estimator.input!r}: it would take each text "
                "for the name of a file and open it. The command line gives a model texts only."
            )
    return model


def _estimators_in(value: Any) -> Iterator[Any]:
    """Yield all estimators within one; get_params would hide one of two steps of the same name."""
    if isinstance(value, list | tuple):
        for part in value:
            yield from _estimators_in(part)
    elif hasattr(value, "get_params"):
        yield value
        yield from _estimators_in(list(value.get_params(deep=False).values()))
