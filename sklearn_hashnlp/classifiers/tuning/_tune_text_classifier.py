"""tune_text_classifier: search for parameters within a time and a size."""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse, vstack
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils import check_consistent_length

from sklearn_hashnlp._sklearn import Interval, validate_parameter_constraints
from sklearn_hashnlp.classifiers._labels import check_targets, read_targets
from sklearn_hashnlp.classifiers._losses import LossChoice, takes_soft_labels
from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
from sklearn_hashnlp.classifiers.tuning import check_optuna
from sklearn_hashnlp.classifiers.tuning._result import Split, TuningResult
from sklearn_hashnlp.text._documents import as_documents

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

_CALLER = "tune_text_classifier"
_FOLDS = 5
_MANY_TEXTS = 10_000  # with more, a fifth of them is enough to score on
_CONSTRAINTS: dict[str, list[Any]] = {
    "max_time": [Interval(Real, 0, None, closed="neither"), None],
    "max_trials": [Interval(Integral, 1, None, closed="left"), None],
    "max_size": [Interval(Integral, 1, None, closed="left"), None],
    "random_state": [Interval(Integral, 0, 2**32 - 1, closed="both"), None],
}


def tune_text_classifier(
    X: Any,
    y: Any,
    *,
    validation_data: tuple[Any, Any] | None = None,
    estimator: TextClassifier | None = None,
    param_distributions: Mapping[str, Any] | None = None,
    max_time: float | None = 60.0,
    max_trials: int | None = None,
    max_size: int | None = None,
    scoring: str | Callable[[Any, Any, Any], float] | None = None,
    trials_file: str | os.PathLike[str] | None = None,
    random_state: int | None = None,
    callback: Callable[[Study, FrozenTrial], None] | None = None,
) -> TuningResult:
    """Search for good parameters of a text classifier within a time and, if wanted, a size.

    A study of `optuna <https://optuna.org>`_, which must be installed: the first trial has the parameters of the
    estimator as they are, the next ones are drawn by a tree-structured Parzen estimator [1]_. Each model is scored as
    it would be saved, with tables of float32 and of int8. Up to 10,000 texts are scored by stratified cross-validation
    in five folds, of more texts a fifth is held out once. A trial that scores less than the median of the others after
    some of the folds is pruned, and one with a model that is too large.

    Parameters
    ----------
    X : iterable of str of length n_texts
        The training texts.
    y : array-like or lists of labels of shape (n_texts,), or {array-like, sparse matrix, data frame} \
            of shape (n_texts, n_classes)
        Their labels, as in :meth:`TextClassifier.fit`.
    validation_data : (X, y) or None, default=None
        Texts and labels to score on; None is cross-validation.
    estimator : TextClassifier or None, default=None
        Classifier with the other parameters; None is ``TextClassifier()``. If its ``random_state`` is None, it gets
        the search's.
    param_distributions : dict or None, default=None
        Lists of values, or distributions of ``optuna.distributions``, by the names of parameters. None: n-grams of
        words or characters, their lengths, lowercase, and sizes of the tables; words alone and case are tried first.
        If the estimator has ``classifier=``, the parameters of the model are named ``classifier__n_buckets`` and so on.
    max_time : float or None, default=60.0
        Seconds, with the time that ``fit_best`` will take. A trial that would take longer, judging by the slowest fold
        so far, is not started. The first trial always ends. None: no limit.
    max_trials : int or None, default=None
        Number of trials. Unlike ``max_time`` it gives the same trials each time.
    max_size : int or None, default=None
        Limit of the model's folder in bytes: trials with larger models are pruned.
    scoring : str, callable or None, default=None
        Name of a scorer of scikit-learn, or a callable ``scorer(estimator, X, y)`` with higher scores for better
        models, with ``trials_file`` one that can be pickled. None is the accuracy or, with multiple labels per text,
        the precision of the most probable label. Scorers of scikit-learn get lists of labels as an indicator matrix.
    trials_file : str, path-like or None, default=None
        Journal file of optuna to which each trial is appended. A search with the same data, settings and seed continues
        after its trials, and their time counts; the limits may differ. Requires a ``random_state``.
    random_state : int or None, default=None
        Seed of the parameters, the folds and the training. None: another one each time.
    callback : callable or None, default=None
        Called with the study and each trial when it is finished, ``callback(study, trial)``.

    Returns
    -------
    TuningResult
        ``study`` is the study of optuna, ``models`` has all complete trials, ``best()`` is the best model, ``front()``
        are those that no other beats in size and score, and ``fit_best(X, y)`` trains the best on all texts.

    Raises
    ------
    ImportError
        If optuna is not installed.
    ValueError
        If an argument is not as described, if ``scoring`` needs texts of each label in all folds and they are too few,
        if no trial succeeded (the message has the first error), or if ``trials_file`` is not a journal, or damaged.
    TypeError
        If ``estimator`` is not a ``TextClassifier``, or a text is not a ``str``.
    OSError
        If ``trials_file`` cannot be read or written, or another search is writing to it.

    See Also
    --------
    sklearn.model_selection.RandomizedSearchCV, sklearn.model_selection.HalvingRandomSearchCV : Searches without limits
        of time and size, for any estimator.

    Notes
    -----
    A trial that fails, such as for lack of memory, has the score ``-inf``. The score of the best of many trials is
    slightly too high: measure the final model on other texts.

    References
    ----------
    .. [1] Bergstra, Bardenet, Bengio & Kégl (2011). Algorithms for hyper-parameter optimization. NIPS.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import tune_text_classifier
    >>> texts = [
    ...     "a fine, funny film",
    ...     "dull and far too long",
    ...     "funny and fine acting",
    ...     "too dull to sit through",
    ... ] * 5
    >>> y = ["good", "bad", "good", "bad"] * 5
    >>> space = {"features": ["words", "characters"]}
    >>> result = tune_text_classifier(
    ...     texts, y, param_distributions=space, max_trials=3, random_state=0
    ... )
    >>> [trial.params for trial in result.study.trials]
    [{}, {'features': 'words'}, {'features': 'characters'}]
    >>> model, tuned = result.fit_best(texts, y)
    >>> tuned.score
    1.0
    >>> model.predict(["fine and funny"])
    array(['good'], dtype='<U4')
    """
    started = time.monotonic()
    check_optuna(_CALLER)
    from sklearn_hashnlp.classifiers.tuning._search import Search, make_study, open_journal, was_stopped_for_size
    from sklearn_hashnlp.classifiers.tuning._search_space import SearchSpace

    limits = {"max_time": max_time, "max_trials": max_trials, "max_size": max_size, "random_state": random_state}
    validate_parameter_constraints(_CONSTRAINTS, limits, caller_name=_CALLER)
    if trials_file is not None and random_state is None:
        raise ValueError(f"{_CALLER} needs a random_state with trials_file, to continue the same search.")
    seed = int(np.random.default_rng().integers(2**32)) if random_state is None else int(random_state)
    if not isinstance(estimator, TextClassifier | None):
        raise TypeError(f"{_CALLER} needs a TextClassifier as estimator, got {type(estimator).__name__}.")
    estimator = TextClassifier() if estimator is None else clone(estimator)
    if estimator.random_state is None:
        estimator.set_params(random_state=seed)
    loss = (estimator if estimator.classifier is None else estimator.classifier).loss
    texts, labels, columns = _read_columns(X, y, loss)
    n_train = len(texts)
    if validation_data is None:
        splits = _make_folds(labels, seed)
    else:
        more_texts, more_labels, more_columns = _read_columns(*validation_data, loss)
        if columns != more_columns:
            raise ValueError(
                f"{_CALLER} needs labels of the same form in y and validation_data: one per text, lists of labels, or "
                f"matrices with the same columns. Got {columns} and {more_columns}."
            )
        splits = [(np.arange(n_train), np.arange(n_train, n_train + len(more_texts)))]
        texts, labels = texts + more_texts, _concatenate(labels, more_labels)
    if isinstance(scoring, str) and isinstance(labels, list):
        labels = read_targets(labels, caller=_CALLER)[0].toarray()
    is_multilabel = isinstance(labels, list) or (labels.ndim == 2 and not takes_soft_labels(loss))
    scorer = _precision_at_1 if scoring is None and is_multilabel else check_scoring(estimator, scoring)
    if isinstance(scoring, str) and labels.ndim == 1:
        _check_scorer(scorer, scoring, labels, splits)
    space = SearchSpace(param_distributions, estimator.get_params(), caller=_CALLER)
    with open_journal(trials_file, [texts, labels, n_train, seed, estimator, scoring, space.distributions]) as journal:
        study = make_study()
        if journal is not None:
            study.add_trials([trial for trial in journal.trials if not was_stopped_for_size(trial, max_size)])
        seconds = sum(trial.user_attrs["seconds"] for trial in study.trials)
        search = Search(
            study=study,
            journal=journal,
            space=space,
            estimator=estimator,
            scorer=scorer,
            texts=texts,
            labels=labels,
            splits=splits,
            growth=n_train / len(splits[0][0]),
            seed=seed,
            deadline=math.inf if max_time is None else started + max_time - seconds,
            max_size=max_size,
        )
        search.run(max_trials, callback)
    models = search.models()
    if not models:
        first = study.trials[0].user_attrs["error"]
        raise ValueError(f"{_CALLER}: all {len(study.trials)} trials failed, the first with {first}")
    return TuningResult(study, models, estimator, max_size)


def n_held_out(n_texts: int) -> int:
    """Return the number of texts that are scored without validation data."""
    return n_texts if n_texts <= _MANY_TEXTS else -(-n_texts // _FOLDS)


def _read_columns(X: Any, y: Any, loss: LossChoice) -> tuple[list[str], Any, str | list[Any]]:
    """Return texts, labels as an array, a sparse matrix or a list of lists, and their form or the names of columns."""
    texts, caller = list(as_documents(X, caller=_CALLER)), TextClassifier.__name__
    values, named = read_targets(y, soft=takes_soft_labels(loss), caller=caller)
    values = values.tocsr() if issparse(values) else np.asarray(values)
    labels = check_targets(values, named, loss=loss, caller=caller)
    if named is not None and named.lists:
        labels = [sorted(row) for row in y]
        form: str | list[Any] = "lists of labels"
    elif labels.ndim == 1:
        form = "one label per text"
    else:
        form = list(range(labels.shape[1])) if named is None else named.classes.tolist()
    check_consistent_length(texts, labels)
    return texts, labels, form


def _concatenate(labels: Any, more: Any) -> Any:
    """Return the labels of training and validation texts together."""
    if isinstance(labels, list):
        return labels + more
    return (
        vstack([labels, more], format="csr") if issparse(labels) or issparse(more) else np.concatenate([labels, more])
    )


def _check_scorer(scorer: Callable[..., float], scoring: str, labels: NDArray[Any], splits: list[Split]) -> None:
    """Check that a scorer of scikit-learn can score each split; some need texts of all labels in both parts."""
    for train, valid in splits:
        dummy = DummyClassifier().fit(np.zeros((len(train), 1)), labels[train])
        try:
            with warnings.catch_warnings(action="ignore"):
                score = scorer(dummy, np.zeros((len(valid), 1)), labels[valid])
            if not np.isfinite(score):
                raise ValueError(f"the score is {score}")
        except ValueError as error:
            absent = set(labels[train].tolist()) ^ set(labels[valid].tolist())
            cause = f"the label {min(absent, key=str)!r} is in one of them only" if absent else str(error).rstrip(".")
            raise ValueError(
                f"{_CALLER}(scoring={scoring!r}) cannot score a split into training and validation texts: {cause}. "
                f"Pass at least {_FOLDS} texts of each label, validation_data with all labels, or another scoring."
            ) from error


def _make_folds(labels: Any, seed: int) -> list[Split]:
    """Return the rows to train and to score on, stratified if a label has enough texts."""
    n_texts = labels.shape[0] if hasattr(labels, "shape") else len(labels)
    if n_texts < _FOLDS:
        raise ValueError(
            f"{_CALLER} needs at least {_FOLDS} texts to score on, got {n_texts}. Pass more texts, or validation_data."
        )
    is_stratified = getattr(labels, "ndim", 2) == 1 and np.unique(labels, return_counts=True)[1].max() >= _FOLDS
    folds = (StratifiedKFold if is_stratified else KFold)(_FOLDS, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # labels with fewer texts than folds
        rows = list(folds.split(np.zeros(n_texts), labels if is_stratified else None))
    return rows if n_texts <= _MANY_TEXTS else rows[:1]


def _precision_at_1(model: TextClassifier, texts: list[str], labels: Any) -> float:
    """Return the fraction of texts with a correct most probable label, among texts with labels."""
    best = model.predict_proba(texts).argmax(axis=1)
    if isinstance(labels, list):
        hits = [label in row for label, row in zip(model.classes_[best].tolist(), labels, strict=True) if row]
        return sum(hits) / max(len(hits), 1)
    matrix = labels.toarray() if issparse(labels) else labels
    has_labels = matrix.any(axis=1)
    return float(matrix[np.arange(len(matrix)), best].sum() / max(has_labels.sum(), 1))
