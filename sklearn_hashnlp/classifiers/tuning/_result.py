"""The result of a search: its study, and the models that it recommends."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from sklearn_hashnlp.persistence import save_model
from sklearn_hashnlp.text._documents import as_documents

if TYPE_CHECKING:
    from optuna import Study

    from sklearn_hashnlp.classifiers._text_classifier import TextClassifier

SearchedPrecision = Literal["float32", "int8"]
Split = tuple[NDArray[np.int64], NDArray[np.int64]]  # rows to train and to score on
PRECISIONS: tuple[SearchedPrecision, ...] = ("float32", "int8")


class TunedModel(NamedTuple):
    """A complete trial of a search, saved with one precision."""

    number: int  # of the trial
    params: dict[str, Any]  # that differ from the estimator's
    precision: SearchedPrecision  # to save the model with
    score: float  # mean of the folds
    size: int  # bytes of the folder after training on all texts, estimated from the folds


@dataclass(frozen=True, repr=False)
class TuningResult:
    """The result of :func:`tune_text_classifier`.

    Parameters
    ----------
    study : optuna.Study
        All trials, the first with the parameters of the estimator as they are. The user attributes of a trial are
        ``scores`` (of each fold) and ``sizes`` (in bytes) by precision, ``seconds`` and, if it failed, ``error``.
    models : list of TunedModel
        The complete trials with each precision: number, params, precision, score, size.
    estimator : TextClassifier
        The classifier with the parameters that all trials share.
    max_size : int or None
        Limit of the search in bytes.
    """

    study: Study
    models: list[TunedModel]
    estimator: TextClassifier
    max_size: int | None = None

    def best(self) -> TunedModel:
        """Return the model with the highest score within ``max_size``, and of equal ones the smallest."""
        return self._ranked()[0]

    def front(self) -> list[TunedModel]:
        """Return the models that no other model beats in both size and score, the smallest first."""
        indices = pareto_front([model.size for model in self.models], [model.score for model in self.models])
        return [self.models[i] for i in indices]

    def fit_best(self, X: Any, y: Any) -> tuple[TextClassifier, TunedModel]:
        """Train the best model on all texts, and return it with its entry in ``models``.

        With a limit of size the trained model is saved to measure it, and the next best is trained if it is too large.
        """
        texts = list(as_documents(X, caller="fit_best"))
        ranked = self._ranked()
        for tuned in ranked:
            model = clone(self.estimator).set_params(**tuned.params).fit(texts, y)
            with tempfile.TemporaryDirectory() as folder:
                save_model(model, folder, precision=tuned.precision)
                size = folder_size(Path(folder))
            if self.max_size is None or size <= self.max_size:
                return model, tuned
        raise self._too_large(size, len(ranked))

    def __repr__(self) -> str:
        return f"<TuningResult of {len(self.models)} models, best score {max(one.score for one in self.models):.4f}>"

    def _ranked(self) -> list[TunedModel]:
        fitting = [model for model in self.models if self.max_size is None or model.size <= self.max_size]
        if not fitting:
            raise self._too_large(min(model.size for model in self.models), len(self.models))
        return sorted(fitting, key=lambda model: (-model.score, model.size, model.number))

    def _too_large(self, smallest: int, n_models: int) -> ValueError:
        return ValueError(
            f"No model has at most {self.max_size:,} bytes: the smallest of {n_models} has {smallest:,}. Allow a "
            "larger size, or more time."
        )


def pareto_front(sizes: ArrayLike, scores: ArrayLike) -> NDArray[np.int64]:
    """Return the indices of the models that no other beats in both size and score, the smallest first."""
    scores = np.asarray(scores)
    order = np.lexsort((-scores, np.asarray(sizes)))
    before = np.concatenate([[-np.inf], np.maximum.accumulate(scores[order])[:-1]])
    return np.asarray(order[scores[order] > before], dtype=np.int64)


def describe(params: dict[str, Any]) -> str:
    """Format parameters as text."""
    plain = {name: f"{value:.3g}" if isinstance(value, float) else value for name, value in params.items()}
    return ", ".join(f"{name}={value}" for name, value in plain.items()) or "default parameters"


def folder_size(folder: Path) -> int:
    """Return the number of bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
