"""Trials of a search, and the models that they recommend."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple

from sklearn.base import clone

from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
from sklearn_hashnlp.persistence import save_model
from sklearn_hashnlp.text._documents import as_documents

SearchedPrecision = Literal["float32", "int8"]
Status = Literal["complete", "stopped", "failed"]


@dataclass(frozen=True)
class Trial:
    """Parameters that were tried, and what came of them.

    Parameters
    ----------
    number : int
        Number of the trial, from 0, which has the parameters of the estimator as they are.
    params : dict of str to object
        Parameters of the classifier that differ from the estimator's.
    scores : dict of {"float32", "int8"} to list of float
        Scores of each fold, of the model as it would be saved with that precision.
    sizes : dict of {"float32", "int8"} to int
        Bytes of the folder that ``save_model`` would write after training on all texts, estimated from the folds.
    seconds : float
        Time of training and scoring.
    status : {"complete", "stopped", "failed"}
        ``"stopped"``: after the first folds, since a model that is no larger scores higher, or the model is too large.
    error : str or None
        The error of a trial that failed.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import Trial
    >>> trial = Trial(1, {"lowercase": False}, {"float32": [0.75, 0.25]}, {"float32": 20_000})
    >>> trial.score("float32")
    0.5
    """

    number: int
    params: dict[str, Any]
    scores: dict[str, list[float]]
    sizes: dict[str, int]
    seconds: float = 0.0
    status: Status = "complete"
    error: str | None = None

    def score(self, precision: SearchedPrecision = "float32") -> float:
        """Return the mean score of the folds.

        Parameters
        ----------
        precision : {"float32", "int8"}, default="float32"
            Precision of the tables of the saved model.

        Returns
        -------
        float
            The mean score; NaN if the trial failed in its first fold.
        """
        scores = self.scores.get(precision)
        return math.fsum(scores) / len(scores) if scores else math.nan


class TunedModel(NamedTuple):
    """A model that a search recommends.

    Parameters
    ----------
    trial : Trial
        The trial.
    precision : {"float32", "int8"}
        Precision to save the model with.
    score : float
        Mean score of the folds with that precision.
    size : int
        Estimated bytes of the folder.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import Trial, TuningResult
    >>> trial = Trial(0, {}, {"float32": [0.75], "int8": [0.5]}, {"float32": 80_000, "int8": 20_000})
    >>> TuningResult([trial]).best(max_size=30_000).precision
    'int8'
    """

    trial: Trial
    precision: SearchedPrecision
    score: float
    size: int

    @property
    def params(self) -> dict[str, Any]:
        """The parameters of the trial."""
        return self.trial.params


class ModelTooLargeError(ValueError):
    """No model is as small as wanted."""


@dataclass(frozen=True)
class TuningResult:
    """The result of :func:`tune_text_classifier`.

    Parameters
    ----------
    trials : list of Trial
        All trials in their order, the first with the parameters of the estimator as they are.
    estimator : TextClassifier, default=None
        The classifier whose parameters were searched. None is a ``TextClassifier()``.
    max_size : int or None, default=None
        Limit of the search in bytes.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import Trial, TuningResult
    >>> default = Trial(0, {}, {"float32": [0.75], "int8": [0.75]}, {"float32": 80_000, "int8": 20_000})
    >>> words = Trial(1, {"features": "words"}, {"float32": [0.5], "int8": [0.5]}, {"float32": 30_000, "int8": 9_000})
    >>> result = TuningResult([default, words])
    >>> [(model.size, model.score) for model in result.front()]
    [(9000, 0.5), (20000, 0.75)]
    """

    trials: list[Trial]
    estimator: TextClassifier = field(default_factory=TextClassifier)
    max_size: int | None = None

    def best(self, max_size: int | None = None) -> TunedModel:
        """Return the model with the highest score, of equal ones the smallest.

        Parameters
        ----------
        max_size : int or None, default=None
            Maximal size of the folder in bytes; None is the limit of the search.

        Returns
        -------
        TunedModel
            The model.

        Raises
        ------
        ValueError
            If no trial fits into ``max_size``, or none is complete.
        """
        return self._ranked(self.max_size if max_size is None else max_size)[0]

    def front(self) -> list[TunedModel]:
        """Return the models that no other model beats in both size and score: the Pareto front.

        Returns
        -------
        list of TunedModel
            The models by size, the smallest first; each scores higher than those before it.
        """
        front: list[TunedModel] = []
        for model in sorted(self.models(), key=lambda one: (one.size, -one.score, one.trial.number)):
            if not front or model.score > front[-1].score:
                front.append(model)
        return front

    def models(self) -> list[TunedModel]:
        """Return the models of all complete trials, with each precision.

        Returns
        -------
        list of TunedModel
            The models in the order of the trials.
        """
        return list(_models_of(self.trials))

    def fit_best(self, X: Any, y: Any, *, max_size: int | None = None) -> tuple[TextClassifier, TunedModel]:
        """Train the best model on all texts.

        With a limit of size the trained model is saved once to measure it. If it is too large, which happens where the
        estimate was wrong, the next best is trained.

        Parameters
        ----------
        X : iterable of str of length n_texts
            The texts of the search.
        y : array-like or lists of labels of shape (n_texts,)
            Their labels.
        max_size : int or None, default=None
            As in :meth:`best`.

        Returns
        -------
        model : TextClassifier
            The fitted classifier.
        tuned : TunedModel
            What was known of it; its ``precision`` is the one to save it with.

        Raises
        ------
        ValueError
            If no model fits into ``max_size``.
        """
        max_size = self.max_size if max_size is None else max_size
        texts = list(as_documents(X, caller="fit_best"))
        ranked = self._ranked(max_size)
        for tuned in ranked:
            model = make_classifier(self.estimator, tuned.params).fit(texts, y)
            if max_size is None or (size := saved_size(model, tuned.precision)) <= max_size:
                return model, tuned
        raise ModelTooLargeError(_too_large(max_size or 0, size, len(ranked)))

    def __repr__(self) -> str:
        models = self.models()
        best = f"best score {min(models, key=_by_score).score:.4f}" if models else "none complete"
        n_trials = len(self.trials)
        return f"<TuningResult of {n_trials} trial{'' if n_trials == 1 else 's'}, {best}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("score", "bytes", "precision", "parameters"))
        rows = "".join(_html_row(model) for model in self.front())
        return (
            f"<div>{escape(repr(self))}: the models that no other beats in size and score</div>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        )

    def _ranked(self, max_size: int | None) -> list[TunedModel]:
        models = self.models()
        if not models:
            raise ValueError("No trial is complete.")
        fitting = [model for model in models if max_size is None or model.size <= max_size]
        if not fitting:
            raise ModelTooLargeError(_too_large(max_size or 0, min(model.size for model in models), len(models)))
        return sorted(fitting, key=_by_score)


def describe(params: dict[str, Any]) -> str:
    """Return parameters as text."""
    return ", ".join(f"{name}={_plain(value)}" for name, value in params.items()) or "default parameters"


def _plain(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def _html_row(model: TunedModel) -> str:
    cells = (f"{model.score:.4f}", f"{model.size:,}", model.precision, describe(model.params))
    return f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>"


def make_classifier(estimator: TextClassifier, params: dict[str, Any]) -> TextClassifier:
    """Return an unfitted copy of a classifier with other parameters."""
    copy: TextClassifier = clone(estimator)
    return copy.set_params(**params)


def saved_size(model: Any, precision: SearchedPrecision) -> int:
    """Return the number of bytes of the folder that ``save_model`` writes."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(model, folder, precision=precision)
        return folder_size(Path(folder))


def folder_size(folder: Path) -> int:
    """Return the number of bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())


def _by_score(model: TunedModel) -> tuple[float, int, int]:
    return -model.score, model.size, model.trial.number


def _models_of(trials: list[Trial]) -> Iterator[TunedModel]:
    for trial in trials:
        if trial.status == "complete":
            precisions: tuple[SearchedPrecision, ...] = ("float32", "int8")
            for precision in precisions:
                if precision in trial.scores:
                    yield TunedModel(trial, precision, trial.score(precision), trial.sizes[precision])


def _too_large(max_size: int, smallest: int, n_models: int) -> str:
    return (
        f"No model of at most {max_size:,} bytes was found: the smallest of {n_models} has {smallest:,} bytes. Allow a "
        "larger size, or more time."
    )
