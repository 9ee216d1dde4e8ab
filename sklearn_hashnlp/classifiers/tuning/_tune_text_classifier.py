"""tune_text_classifier: a random search within a time and a size."""

from __future__ import annotations

import math
import os
import re
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold

from sklearn_hashnlp._clock import clock
from sklearn_hashnlp.classifiers._labels import has_label_lists
from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
from sklearn_hashnlp.classifiers.tuning._result import (
    SearchedPrecision,
    Status,
    Trial,
    TuningResult,
    folder_size,
    make_classifier,
)
from sklearn_hashnlp.classifiers.tuning._search_space import Space, candidates
from sklearn_hashnlp.classifiers.tuning._trials_file import TrialsFile, digest
from sklearn_hashnlp.persistence import load_model, save_model
from sklearn_hashnlp.text._documents import as_documents

_CALLER = "tune_text_classifier"
_FOLDS = 5
_SAME_FAILURES = 5  # at the beginning end the search
MIN_TEXTS = 2 * _FOLDS  # without validation data
_MANY_TEXTS = 10_000  # with more, a fifth of them is enough to score on
_SAME_SIZE = 1.01  # a saved history has times, of more or fewer digits
_MAX_SEED = 2**31

Scoring = str | Callable[[Any, Any, Any], float] | None
Progress = Callable[[Trial], None]


def tune_text_classifier(
    X: Any,
    y: Any,
    *,
    validation_data: tuple[Any, Any] | None = None,
    estimator: TextClassifier | None = None,
    param_distributions: Space | None = None,
    max_time: float | None = 60.0,
    max_trials: int | None = None,
    max_size: int | None = None,
    scoring: Scoring = None,
    trials_file: str | os.PathLike[str] | None = None,
    random_state: int | None = None,
    callback: Progress | None = None,
) -> TuningResult:
    """Search for good parameters of a text classifier within a time and, if wanted, a size.

    A random search that scores the estimator as it is first, and then parameters drawn from distributions. Each model
    is scored as it would be saved, with tables of float32 and of int8. Up to 10,000 texts are scored by stratified
    cross-validation in five folds; a trial ends after the first folds if it is worse, by more than a standard error,
    than a complete one whose model is no larger. Of more texts a fifth is held out once.

    Parameters
    ----------
    X : iterable of str of length n_texts
        The training texts.
    y : array-like or lists of labels of shape (n_texts,)
        Their labels, one per text or a list of labels for each.
    validation_data : (X, y) or None, default=None
        Texts and labels to score on; None is cross-validation.
    estimator : TextClassifier or None, default=None
        Classifier whose parameters are searched; None is ``TextClassifier()``. If its ``random_state`` is None, it gets
        that of the search.
    param_distributions : dict, list of dicts or None, default=None
        Lists of values, or distributions with a method ``rvs``, by the names of parameters, as of
        :class:`~sklearn.model_selection.RandomizedSearchCV`. None: n-grams of words or characters, their lengths,
        lowercase, sizes of the tables, and from 20,000 texts on the learning rate and the number of epochs; words alone
        and case are tried first.
    max_time : float or None, default=60.0
        Seconds. A fold that would take longer, judging by the longest one so far, is not begun, and the time that
        :meth:`TuningResult.fit_best` will take is left over. The first trial always ends. None: no limit.
    max_trials : int or None, default=None
        Number of trials after which the search ends. Unlike ``max_time`` it gives the same trials each time.
    max_size : int or None, default=None
        Limit of the model's folder in bytes: larger models are not recommended, and small tables are tried more often.
    scoring : str, callable or None, default=None
        Name of a scorer of scikit-learn, or a callable ``scorer(estimator, X, y)``, whose scores are higher for better
        models; with ``trials_file`` no lambda. None is the accuracy or, with a list of labels for each text, the
        precision of the most probable label.
    trials_file : str, path-like or None, default=None
        File to append each trial to, as a line of JSON. A search with the same data and seed continues after the trials
        in it, whose times count; those that ended early, and would not with this ``max_size``, begin anew. Only with a
        ``random_state``.
    random_state : int or None, default=None
        Seed of the parameters, the folds and the training. None: another one each time.
    callback : callable or None, default=None
        Called with each :class:`Trial` once it is finished, and with those of ``trials_file``.

    Returns
    -------
    TuningResult
        The trials; ``best()`` is the best model, ``front()`` are those that no other beats in size and score, and
        ``fit_best(X, y)`` trains on all texts.

    Raises
    ------
    ValueError
        If an argument is not as described, if all trials failed (the message has the first error), or if
        ``trials_file`` holds the trials of another search.
    TypeError
        If ``estimator`` is no ``TextClassifier``, or a text is not a ``str``.
    BlockingIOError
        If another search is writing to ``trials_file``.
    OSError
        If ``trials_file`` cannot be read or written.

    See Also
    --------
    sklearn.model_selection.RandomizedSearchCV, sklearn.model_selection.HalvingRandomSearchCV : Searches without limits
        of time and size, which take any estimator.

    Notes
    -----
    An error of a trial, such as too little memory, is recorded, and the search goes on.

    The score of the best of many trials is slightly too high: measure the final model on other texts. Racing, the early
    end of trials, follows [1]_.

    References
    ----------
    .. [1] Maron & Moore (1994). Hoeffding races: accelerating model selection search for classification and function
           approximation. NIPS.

    Examples
    --------
    >>> from sklearn_hashnlp.classifiers import tune_text_classifier
    >>> texts = ["a fine, funny film", "dull and far too long", "funny and fine acting", "too dull to sit through"] * 5
    >>> y = ["good", "bad", "good", "bad"] * 5
    >>> space = {"features": ["words", "characters"]}
    >>> result = tune_text_classifier(texts, y, param_distributions=space, max_trials=3, random_state=0)
    >>> [trial.params for trial in result.trials]
    [{}, {'features': 'words'}, {'features': 'characters'}]
    >>> model, tuned = result.fit_best(texts, y)
    >>> tuned.score
    1.0
    >>> model.predict(["fine and funny"])
    array(['good'], dtype='<U4')
    """
    started = time.monotonic()
    _check_limits(max_time=max_time, max_trials=max_trials, max_size=max_size)
    estimator = _check_estimator(estimator)
    _check_space(param_distributions, estimator)
    seed = _seed(random_state, trials_file)
    data = _Data.of(X, y, validation_data, seed)
    if estimator.random_state is None:
        estimator = make_classifier(estimator, {"random_state": seed})
    search = _Search(data, estimator, _scorer(estimator, data, scoring), max_time, max_size, started)
    identity = {
        "random_state": seed,
        "data": digest(data.texts, data.labels, [data.n_train]),
        "estimator": _described(estimator),
        "scoring": scoring if scoring is None or isinstance(scoring, str) else _named(scoring, trials_file),
    }
    opened = nullcontext() if trials_file is None else TrialsFile(trials_file, identity)
    with opened as file:
        space: dict[str, Any] = {"n_texts": data.n_train, "limited": max_size is not None}
        for params in candidates(param_distributions, seed, **space, defaults=estimator.get_params()):
            if max_trials is not None and len(search.trials) >= max_trials:
                break
            trial = file.find(params) if file is not None else None
            if trial is not None and search.is_valid(trial):
                trial = search.repeat(trial, params)
            else:
                trial = search.run(params)
                if trial is None:  # no time is left
                    break
                if file is not None:
                    file.add(trial)
            if callback is not None:
                callback(trial)
            errors = {one.error for one in search.trials}
            if len(search.trials) == _SAME_FAILURES and len(errors) == 1 and None not in errors:
                break  # the fault is not in the parameters
    return _result(search.trials, estimator, max_size)


def n_held_out(n_texts: int) -> int:
    """Return the number of texts that are scored without validation data."""
    return n_texts if n_texts <= _MANY_TEXTS else -(-n_texts // _FOLDS)


class _Data(NamedTuple):
    """Texts and labels, and the rows to train and to score on."""

    texts: list[str]
    labels: Any  # an array, or a list of lists
    splits: list[tuple[NDArray[np.int64], NDArray[np.int64]]]
    n_train: int  # texts that the final model is trained on

    @classmethod
    def of(cls, X: Any, y: Any, validation_data: tuple[Any, Any] | None, seed: int) -> _Data:
        texts, labels = _columns(X, y, "X and y")
        n = len(texts)
        if validation_data is not None:
            if not isinstance(validation_data, tuple | list) or len(validation_data) != 2:
                raise ValueError(
                    f"validation_data of {_CALLER} must be a pair (texts, labels), got "
                    f"{type(validation_data).__name__} of length {len(validation_data)}."
                )
            more, more_labels = _columns(*validation_data, "validation_data")
            if isinstance(labels, list) != isinstance(more_labels, list):
                raise ValueError(
                    f"{_CALLER} needs one label per text, or lists of labels, in both y and validation_data."
                )
            labels = labels + more_labels if isinstance(labels, list) else np.concatenate([labels, more_labels])
            return cls(texts + more, labels, [(np.arange(n), np.arange(n, len(labels)))], n)
        if n < MIN_TEXTS:
            raise ValueError(f"{_CALLER} needs at least {MIN_TEXTS} texts to score some of them, got {n}.")
        splits = list(_splits(labels, n, seed))
        return cls(texts, labels, splits if n <= _MANY_TEXTS else splits[:1], n)

    def take(self, rows: NDArray[np.int64]) -> tuple[list[str], Any]:
        """Return the texts and labels of some rows."""
        labels = [self.labels[i] for i in rows] if isinstance(self.labels, list) else self.labels[rows]
        return [self.texts[i] for i in rows], labels


class _Fold(NamedTuple):
    """Scores and sizes of one model."""

    scores: dict[SearchedPrecision, float]
    sizes: dict[SearchedPrecision, int]


class _Search:
    """A random search: its trials, and the time that they take."""

    def __init__(
        self,
        data: _Data,
        estimator: TextClassifier,
        scorer: Callable[[Any, Any, Any], float],
        max_time: float | None,
        max_size: int | None,
        started: float,
    ) -> None:
        self.trials: list[Trial] = []
        self._data = data
        self._estimator = estimator
        self._scorer = scorer
        self._max_time = math.inf if max_time is None else max_time
        self._max_size = max_size
        self._started = started
        self._longest_fold = 0.0

    def is_valid(self, trial: Trial) -> bool:
        """Return whether a trial of an earlier run would end in this one as it did, whose limit of size may differ."""
        return trial.status != "stopped" or self._is_hopeless(trial.scores["float32"], trial.sizes["int8"])

    def repeat(self, trial: Trial, params: dict[str, Any]) -> Trial:
        """Add a trial of an earlier run, whose time counts."""
        trial = replace(trial, number=len(self.trials), params=params)  # in the file tuples are lists
        self._started -= trial.seconds
        self._add(trial)
        return trial

    def run(self, params: dict[str, Any]) -> Trial | None:
        """Score parameters; None if there is no time."""
        started = clock()
        folds: list[_Fold] = []
        status: Status = "complete"
        error = None
        for rows in self._data.splits:
            if self.trials and not self._has_time():
                return None
            try:
                folds.append(self._fold(params, *rows))
            except Exception as failure:  # too little memory, parameters that do not fit: the others may do
                status, error = "failed", f"{type(failure).__name__}: {failure}"
                break
            if self.trials and len(folds) < len(self._data.splits):
                scores = [fold.scores["float32"] for fold in folds]
                if self._is_hopeless(scores, max(fold.sizes["int8"] for fold in folds)):
                    status = "stopped"
                    break
        trial = Trial(
            number=len(self.trials),
            params=params,
            scores={precision: [fold.scores[precision] for fold in folds] for precision in _precisions(folds)},
            sizes={precision: max(fold.sizes[precision] for fold in folds) for precision in _precisions(folds)},
            seconds=round(clock() - started, 3),
            status=status,
            error=error,
        )
        self._add(trial)
        return trial

    def _add(self, trial: Trial) -> None:
        self.trials.append(trial)
        self._longest_fold = max(self._longest_fold, _seconds_per_fold(trial))

    def _fold(self, params: dict[str, Any], train: NDArray[np.int64], valid: NDArray[np.int64]) -> _Fold:
        """Train and score one model."""
        texts, labels = self._data.take(valid)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of parameters that the user did not choose
            model = make_classifier(self._estimator, params).fit(*self._data.take(train))
            growth = self._data.n_train / len(train)  # n-grams grow more slowly
            scores: dict[SearchedPrecision, float] = {"float32": self._scorer(model, texts, labels)}
            sizes: dict[SearchedPrecision, int] = {}
            with tempfile.TemporaryDirectory() as folder:
                for precision in ("float32", "int8"):
                    save_model(model, folder, precision=precision)
                    sizes[precision] = math.ceil(growth * folder_size(Path(folder)))
                scores["int8"] = self._scorer(load_model(folder), texts, labels)
        if not all(map(math.isfinite, scores.values())):
            raise ValueError(f"the scores are {scores}, and a search needs finite ones")
        return _Fold(scores, sizes)

    def _has_time(self) -> bool:
        """Return whether there is time for another fold and to train the best model on all texts."""
        elapsed = time.monotonic() - self._started
        complete = [trial for trial in self.trials if trial.status == "complete"]
        best = max(complete, key=lambda trial: trial.score(), default=None)
        growth = self._data.n_train / len(self._data.splits[0][0])
        final = 0.0 if best is None else growth * _seconds_per_fold(best)
        return elapsed + self._longest_fold + final <= self._max_time

    def _is_hopeless(self, scores: Sequence[float], size: int) -> bool:
        """Return whether a model that is no larger scores higher by more than a standard error, or it is too large."""
        if self._max_size is not None and size > self._max_size:
            return True
        mean = math.fsum(scores) / len(scores)
        n_scored = sum(len(valid) for _, valid in self._data.splits[: len(scores)])
        error = math.sqrt(abs(mean * (1 - mean)) / n_scored)
        return any(
            trial.status == "complete"
            and trial.sizes["int8"] <= _SAME_SIZE * size
            and math.fsum(trial.scores["float32"][: len(scores)]) / len(scores) > mean + error
            for trial in self.trials
        )


def _precisions(folds: Sequence[_Fold]) -> tuple[SearchedPrecision, ...]:
    return ("float32", "int8") if folds else ()


def _seconds_per_fold(trial: Trial) -> float:
    return trial.seconds / max(len(trial.scores.get("float32", ())), 1)


def _result(trials: list[Trial], estimator: TextClassifier, max_size: int | None) -> TuningResult:
    failed = [trial for trial in trials if trial.status == "failed"]
    if len(failed) == len(trials):
        raise ValueError(f"{_CALLER}: all {len(trials)} trials failed, the first with {failed[0].error}")
    return TuningResult(trials, estimator, max_size)


def _columns(X: Any, y: Any, name: str) -> tuple[list[str], Any]:
    """Return texts as a list, and labels as an array or a list of lists."""
    texts = list(as_documents(X, caller=_CALLER))
    labels: Any = [sorted(row) for row in y] if has_label_lists(y) else np.asarray(y)
    if not isinstance(labels, list) and labels.ndim != 1:
        raise ValueError(
            f"{_CALLER} needs one label per text or lists of labels, got {name} with shape {labels.shape}."
        )
    if len(texts) != len(labels):
        raise ValueError(f"{_CALLER} needs a label for each text, got {name} with {len(texts)} and {len(labels)}.")
    return texts, labels


def _splits(labels: Any, n: int, seed: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the rows of the folds, stratified where every label has a text for most of them."""
    if isinstance(labels, list) or np.unique(labels, return_counts=True)[1].max() < _FOLDS:
        return KFold(_FOLDS, shuffle=True, random_state=seed).split(np.zeros(n))  # type: ignore[no-any-return]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # labels with fewer texts than folds
        return iter(list(StratifiedKFold(_FOLDS, shuffle=True, random_state=seed).split(np.zeros(n), labels)))


def _scorer(estimator: TextClassifier, data: _Data, scoring: Scoring) -> Callable[[Any, Any, Any], float]:
    if scoring is None and isinstance(data.labels, list):
        return _precision_at_1
    scorer: Callable[[Any, Any, Any], float] = check_scoring(estimator, scoring)
    return scorer


def _precision_at_1(model: TextClassifier, texts: list[str], labels: list[list[Any]]) -> float:
    """Return the share of texts whose most probable label is one of theirs, of those with labels."""
    best = model.classes_[model.predict_proba(texts).argmax(axis=1)].tolist()
    hits = [label in row for label, row in zip(best, labels, strict=True) if row]
    return sum(hits) / max(len(hits), 1)


def _described(value: Any) -> str:
    """Return the text of an estimator or a scorer, the same in each process."""
    with config_context(print_changed_only=True):
        return " ".join(re.sub(r" at 0x[0-9a-fA-F]+", "", repr(value)).split())


def _named(scoring: Any, trials_file: Any) -> str:
    """Return a text that tells a scorer from others."""
    text = _described(scoring)
    if trials_file is not None and "<lambda>" in text:
        raise ValueError(
            f"{_CALLER} cannot tell one lambda from another in trials_file. Pass a function with a name as scoring."
        )
    return text


def _check_estimator(estimator: Any) -> TextClassifier:
    if estimator is None:
        return TextClassifier()
    if not isinstance(estimator, TextClassifier):
        raise TypeError(
            f"{_CALLER} searches the parameters of a TextClassifier, got {type(estimator).__name__}. For other "
            "estimators use RandomizedSearchCV of scikit-learn."
        )
    return estimator


def _check_space(space: Any, estimator: TextClassifier) -> None:
    """Check names, of which a trial would only be recorded as failed."""
    spaces = [] if space is None else [space] if isinstance(space, Mapping) else space
    for name in {name for part in spaces for name in part}:
        if name not in estimator.get_params():
            raise ValueError(
                f"param_distributions of {_CALLER} has {name!r}, which is no parameter of a TextClassifier. Its "
                f"parameters are {', '.join(estimator.get_params())}."
            )


def _check_limits(**limits: Any) -> None:
    for name, value in limits.items():
        is_number = isinstance(value, Real if name == "max_time" else Integral) and not isinstance(value, bool)
        if value is not None and not (is_number and value > 0):
            kind = "a number" if name == "max_time" else "an integer"
            raise ValueError(f"{name} of {_CALLER} must be {kind} above 0 or None, got {value!r}.")


def _seed(random_state: Any, trials_file: Any) -> int:
    if random_state is None:
        if trials_file is not None:
            raise ValueError(f"{_CALLER} needs a random_state with trials_file, to continue the same search.")
        return int(np.random.default_rng().integers(_MAX_SEED))
    if not isinstance(random_state, int | np.integer) or not 0 <= random_state < 2**32:
        raise ValueError(f"random_state of {_CALLER} must be an int from 0 to 2**32 - 1 or None, got {random_state!r}.")
    return int(random_state)
