"""tune_text_classifier: a search by optuna for parameters, within a time and a size."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_consistent_length

from sklearn_hashnlp._sklearn import Interval, index_rows, validate_parameter_constraints
from sklearn_hashnlp.classifiers._labels import read_targets
from sklearn_hashnlp.classifiers._make_text_classifier import Features
from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.text._documents import as_documents

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

_CALLER = "tune_text_classifier"
_FOLDS, _MANY_TEXTS = 5, 10_000  # with more texts, one fold is enough to score on
_CONSTRAINTS: dict[str, list[Any]] = {
    "max_time": [Interval(Real, 0, None, closed="neither"), None],
    "max_trials": [Interval(Integral, 1, None, closed="left"), None],
    "max_size": [Interval(Integral, 1, None, closed="left"), None],
}
# Tried after the parameters of the estimator, since they are fast and often good.
_FIRST = (("words", True), ("words", False), ("auto", False))  # features, lowercase
_SIZES = {"max_words": 2, "n_buckets": 2**20, "n_embeddings": 2**20}


def tune_text_classifier(
    X: Any,
    y: Any,
    *,
    validation_data: tuple[Any, Any] | None = None,
    estimator: TextClassifier | None = None,
    space: Callable[[Any], dict[str, Any]] | None = None,
    max_time: float | None = 60.0,
    max_trials: int | None = None,
    max_size: int | None = None,
    scoring: str | Callable[[Any, Any, Any], float] | None = None,
    study: Study | None = None,
    callbacks: Sequence[Callable[[Study, FrozenTrial], None]] = (),
    random_state: int | None = None,
) -> tuple[TextClassifier, FrozenTrial, Study]:
    """Search for parameters of a text classifier within a time and, if wanted, a size.

    The search is a study of `optuna <https://optuna.org>`_, which must be installed; its first
    trial has the parameters of the estimator. Up to 10,000 texts are scored by cross-validation in
    five folds, of more a fifth is held out. The best model is trained on all texts.

    Parameters
    ----------
    X, y : iterable of str of length n_texts, and their labels
        As in :meth:`TextClassifier.fit`.
    validation_data : (X, y) or None, default=None
        Texts and labels to score on; None is cross-validation.
    estimator : TextClassifier or None, default=None
        Classifier with the other parameters; None is ``TextClassifier()``. If its ``random_state``
        is None, it gets the search's.
    space : callable or None, default=None
        Draws parameters, ``space(trial)``: a dict of values that methods of the trial suggest.
        None: n-grams of words or characters, their lengths, lowercase, and sizes of the tables.
    max_time : float or None, default=60.0
        Seconds of all trials of the study and of the last training. A trial that has begun ends.
    max_trials : int or None, default=None
        Number of trials of the study. Unlike ``max_time`` it gives the same trials each time.
    max_size : int or None, default=None
        Limit in bytes of the folder that ``save_model(model, folder, precision="int8")`` writes.
        Trials are scored with this precision, and pruned if the model is larger.
    scoring : str, callable or None, default=None
        Name of a scorer of scikit-learn, or ``scorer(estimator, X, y)``, higher for better models.
        None is the ``score`` of the classifier.
    study : optuna.Study or None, default=None
        Study that maximizes, with a sampler, a pruner and a storage of your choice; one with trials
        is continued. None: a new one in memory, with a tree-structured Parzen estimator [1]_.
    callbacks : sequence of callable, default=()
        Called after each trial with the study and the trial.
    random_state : int or None, default=None
        Seed of a new study, the folds and the training. None: another one each time.

    Returns
    -------
    model, trial, study : TextClassifier, optuna.trial.FrozenTrial, optuna.Study
        The best classifier; its trial, with the score as ``value``; and the study with all trials.
        ``trial.user_attrs["bytes"]`` is the size of the model, estimated from the folds.

    Raises
    ------
    ImportError
        If optuna is not installed.
    ValueError
        If an argument is not as described, or all models are larger than ``max_size``.
    TypeError
        If ``estimator`` is not a ``TextClassifier``, or a text is not a ``str``.

    References
    ----------
    .. [1] Bergstra et al. (2011). Algorithms for hyper-parameter optimization. NIPS.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import tune_text_classifier
    >>> texts = ["a fine, funny film", "dull and far too long"] * 10
    >>> model, trial, study = tune_text_classifier(
    ...     texts, ["good", "bad"] * 10, max_trials=3, random_state=0
    ... )
    >>> len(study.trials), study.trials[0].params, trial.value
    (3, {}, 1.0)
    >>> model.predict(["fine and funny"])
    array(['good'], dtype='<U4')
    """
    try:
        from optuna import create_study
        from optuna.samplers import TPESampler
        from optuna.trial import TrialState
    except ImportError:
        raise ImportError(f"{_CALLER} needs optuna. Install it with: pip install optuna") from None
    limits = {"max_time": max_time, "max_trials": max_trials, "max_size": max_size}
    validate_parameter_constraints(_CONSTRAINTS, limits, caller_name=_CALLER)
    if not isinstance(estimator, TextClassifier | None):
        raise TypeError(f"{_CALLER} needs a TextClassifier, got {type(estimator).__name__}.")
    estimator = TextClassifier() if estimator is None else clone(estimator)
    if estimator.random_state is None:
        estimator.set_params(random_state=random_state)
    texts, y = list(as_documents(X, caller=_CALLER)), y.tocsr() if issparse(y) else y
    check_consistent_length(texts, y)
    if validation_data is None:
        folds = _make_folds(texts, y, random_state)
    else:
        valid_texts, valid_y = validation_data
        folds = [(texts, y, list(as_documents(valid_texts, caller=_CALLER)), valid_y)]
    limit, growth = math.inf if max_size is None else max_size, len(texts) / len(folds[0][0])
    search = _Search(estimator, check_scoring(estimator, scoring), folds, growth, limit)
    study = study or create_study(direction="maximize", sampler=TPESampler(seed=random_state))
    ended = (TrialState.COMPLETE, TrialState.PRUNED)
    if all(trial.params for trial in study.get_trials(states=ended)):
        study.optimize(lambda trial: search.score(trial, {}), n_trials=1, callbacks=callbacks)
    seconds = [trial.duration.total_seconds() for trial in study.get_trials(states=ended)]
    n_trials = None if max_trials is None else max(max_trials - len(seconds), 0)
    if space is None:
        space = partial(_draw, is_nested=estimator.classifier is not None)
        for features, lowercase in _FIRST[:n_trials]:
            values = _SIZES | {"features": features, "lowercase": lowercase}
            study.enqueue_trial(values, skip_if_exists=True)
    study.optimize(
        lambda trial: search.score(trial, space(trial)),
        n_trials=n_trials,
        # Another trial, and the last training, take as long as the slowest and half of it.
        timeout=None if max_time is None else max_time - sum(seconds) - 1.5 * max(seconds),
        callbacks=callbacks,
        catch=Exception,
    )
    return *search.fit_best(study, space, texts, y), study


@dataclass
class _Search:
    """The data and the limits of a search."""

    estimator: TextClassifier
    scorer: Callable[..., float]
    folds: list[Any]  # of each: texts and labels to train on, texts and labels to score on
    growth: float  # of the number of texts, up to the last training
    max_size: float  # in bytes

    def score(self, trial: Trial, params: dict[str, Any]) -> float:
        """Return the mean score of parameters over the folds."""
        from optuna import TrialPruned

        scores: list[float] = []
        for step, (texts, y, *valid) in enumerate(self.folds):
            with warnings.catch_warnings(action="ignore"), TemporaryDirectory() as folder:
                model = clone(self.estimator).set_params(**params).fit(texts, y)
                size = math.ceil(self.growth * self.save(model, folder))
                scores.append(float(self.scorer(load_model(folder), *valid)))
            if not math.isfinite(scores[-1]):
                raise ValueError(f"{_CALLER} needs finite scores, got {scores[-1]}.")
            trial.set_user_attr("bytes", size)
            trial.report(scores[-1], step)
            if size > self.max_size or (step + 1 < len(self.folds) and trial.should_prune()):
                raise TrialPruned
        return fmean(scores)

    def save(self, model: TextClassifier, folder: str) -> int:
        """Save a model with the precision of the search; return the number of bytes."""
        save_model(model, folder, precision="float32" if self.max_size == math.inf else "int8")
        return sum(path.stat().st_size for path in Path(folder).iterdir())

    def fit_best(self, study: Study, space: Any, texts: list[str], y: Any) -> Any:
        """Return the best model, trained on all texts, or the next best if it is too large."""
        sizes = [trial.user_attrs["bytes"] for trial in study.trials if "bytes" in trial.user_attrs]
        complete = [trial for trial in study.trials if trial.state.name == "COMPLETE"]
        fitting = [trial for trial in complete if trial.user_attrs["bytes"] <= self.max_size]
        for trial in sorted(fitting, key=lambda trial: trial.value, reverse=True):
            params = space(trial) if trial.params else {}
            model = clone(self.estimator).set_params(**params).fit(texts, y)
            with TemporaryDirectory() as folder:
                sizes.append(self.save(model, folder))
            if sizes[-1] <= self.max_size:
                return model, trial
        raise ValueError(
            f"No model has at most {self.max_size:,} bytes: the smallest of {len(sizes)} has "
            f"{min(sizes):,}. Allow a larger size, or more time."
        )


def _draw(trial: Trial, *, is_nested: bool) -> dict[str, Any]:
    """Draw the parameters that are searched by default; those of a ``classifier`` are nested."""
    prefix = "classifier__" if is_nested else ""
    return {
        "features": trial.suggest_categorical("features", get_args(Features)),
        "lowercase": trial.suggest_categorical("lowercase", [True, False]),
        "ngram_range": (1, trial.suggest_int("max_words", 1, 3)),
        f"{prefix}n_buckets": trial.suggest_int("n_buckets", 2**10, 2**20, log=True),
        f"{prefix}n_embeddings": trial.suggest_int("n_embeddings", 2**12, 2**20, log=True),
    }


def _make_folds(texts: list[str], y: Any, seed: int | None) -> list[Any]:
    """Return five folds, or one of many texts; stratified if a label has enough texts."""
    if len(texts) < _FOLDS:
        raise ValueError(
            f"{_CALLER} needs at least {_FOLDS} texts to score on, got {len(texts)}. Pass more "
            "texts, or validation_data."
        )
    labels = read_targets(y, caller=_CALLER)[0]
    stratify = np.ndim(labels) == 1 and np.unique(labels, return_counts=True)[1].max() >= _FOLDS
    kind = StratifiedKFold if stratify else KFold
    splitter = kind(_FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings(action="ignore"):  # labels with fewer texts than folds
        splits = list(splitter.split(texts, labels if stratify else None))
    splits = splits if len(texts) <= _MANY_TEXTS else splits[:1]
    return [[index_rows(one, rows) for rows in split for one in (texts, y)] for split in splits]
