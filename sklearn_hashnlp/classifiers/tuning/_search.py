"""The trials of a search, within a time and a size, and the journal file by which a later run continues."""

from __future__ import annotations

import json
import math
import os
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from time import perf_counter
from typing import Any

import joblib
import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, TrialState
from sklearn.base import clone

from sklearn_hashnlp._posix import lock_file
from sklearn_hashnlp._sklearn import index_rows
from sklearn_hashnlp.classifiers._text_classifier import TextClassifier
from sklearn_hashnlp.classifiers.tuning._result import PRECISIONS, SearchedPrecision, Split, TunedModel, folder_size
from sklearn_hashnlp.classifiers.tuning._search_space import SearchSpace, identity
from sklearn_hashnlp.persistence import load_model, save_model

Callback = Callable[[optuna.Study, FrozenTrial], None]

_MAX_REPEATED = 100  # draws in a row: then the space is exhausted
_MAX_FAILED = 5  # trials at the beginning: then the fault is not in the parameters


@dataclass(frozen=True)
class Search:
    """A search: its study and space, its data, and its limits."""

    study: optuna.Study  # in memory
    journal: optuna.Study | None  # gets each finished trial
    space: SearchSpace
    estimator: TextClassifier
    scorer: Callable[[Any, Any, Any], float]
    texts: list[str]
    labels: Any  # an array, or a list of lists
    splits: list[Split]
    growth: float  # of the texts, from a fold to the final training
    seed: int
    deadline: float
    max_size: int | None

    def run(self, max_trials: int | None, callback: Callback | None) -> None:
        """Run trials until a limit is reached: the first ones of the space, then those that the sampler draws."""
        first = self.space.first
        while (n_trials := len(_finished_trials(self.study))) != max_trials:
            if n_trials == _MAX_FAILED and not complete_trials(self.study):
                return
            if not self._has_time(len(self.splits)):
                return
            values = first[n_trials] if n_trials < len(first) else self._draw()
            if values is None:
                return
            self.study.enqueue_trial(values)
            trial = self.study.ask({name: self.space.distributions[name] for name in values})
            try:
                finished = self.study.tell(trial, self._score(trial))
            except optuna.TrialPruned:
                finished = self.study.tell(trial, state=TrialState.PRUNED)
            was_stopped_by_time = finished.state is TrialState.PRUNED and not self._has_time(1)
            if self.journal is not None and not was_stopped_by_time:
                self.journal.add_trial(finished)
            if callback is not None:
                callback(self.study, finished)

    def _draw(self) -> dict[str, Any] | None:
        """Return untried values, which depend on the seed and the trials so far; None if there are none left."""
        trials = _finished_trials(self.study)
        tried = {identity(self.space.decode(trial.params)) for trial in trials}
        state = np.random.SeedSequence([self.seed, len(trials)]).generate_state(1)[0]
        copy = make_study(sampler=optuna.samplers.TPESampler(seed=int(state)))  # repeated draws are not recorded
        copy.add_trials(trials)
        for _ in range(_MAX_REPEATED):
            values: dict[str, Any] = copy.ask(self.space.distributions).params
            if identity(self.space.decode(values)) not in tried:
                return values
        return None

    def _score(self, trial: optuna.Trial) -> float:
        """Train and score a trial on each fold; return the higher score of both precisions, or -inf for an error."""
        started = perf_counter()
        params = self.space.decode(trial.params)
        scores: dict[SearchedPrecision, list[float]] = {precision: [] for precision in PRECISIONS}
        sizes = dict.fromkeys(PRECISIONS, 0)
        is_first = not _finished_trials(self.study)  # which always ends, as the one to compare with
        try:
            for fold, rows in enumerate(self.splits):
                if not self._has_time(1):
                    raise optuna.TrialPruned
                for precision, (score, size) in self._score_fold(params, *rows).items():
                    scores[precision].append(score)
                    sizes[precision] = max(sizes[precision], size)
                trial.report(scores["float32"][-1], fold)
                trial.set_user_attr("sizes", sizes)
                if fold + 1 < len(self.splits) and not is_first:
                    too_large = self.max_size is not None and sizes["int8"] > self.max_size
                    trial.set_user_attr("too_large", too_large)
                    if too_large or trial.should_prune():
                        raise optuna.TrialPruned
        except optuna.TrialPruned:
            raise
        except Exception as error:  # too little memory, parameters that do not fit: the others may do
            trial.set_user_attr("error", f"{type(error).__name__}: {error}")
            return -math.inf
        finally:
            trial.set_user_attr("scores", scores)
            trial.set_user_attr("seconds", round(perf_counter() - started, 3))
        return max(map(fmean, scores.values()))

    def _score_fold(
        self, params: dict[str, Any], train: NDArray[np.int64], valid: NDArray[np.int64]
    ) -> dict[SearchedPrecision, tuple[float, int]]:
        """Train a model; return its score and its size after training on all texts, for each precision."""
        result: dict[SearchedPrecision, tuple[float, int]] = {}
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")  # of parameters that the user did not choose
            model = clone(self.estimator).set_params(**params)
            model.fit(index_rows(self.texts, train), index_rows(self.labels, train))
            for precision in PRECISIONS:
                save_model(model, folder, precision=precision)
                saved = model if precision == "float32" else load_model(folder)
                score = float(self.scorer(saved, index_rows(self.texts, valid), index_rows(self.labels, valid)))
                if not math.isfinite(score):
                    raise ValueError(f"the score is {score}, and a search needs a finite one")
                result[precision] = score, math.ceil(self.growth * folder_size(Path(folder)))
        return result

    def _has_time(self, n_folds: int) -> bool:
        """Return whether there is time for some folds, judging by the slowest, and for training the best model."""
        trials = _finished_trials(self.study)
        if not trials:
            return True
        slowest = max(map(_seconds_per_fold, trials))
        best = max(complete_trials(self.study), key=lambda trial: float(trial.value), default=None)
        final = 0.0 if best is None else self.growth * _seconds_per_fold(best)
        return time.monotonic() + n_folds * slowest + final <= self.deadline

    def models(self) -> list[TunedModel]:
        """Return the models of the complete trials, with each precision."""
        return [
            TunedModel(
                trial.number,
                self.space.decode(trial.params),
                precision,
                fmean(trial.user_attrs["scores"][precision]),
                trial.user_attrs["sizes"][precision],
            )
            for trial in complete_trials(self.study)
            for precision in PRECISIONS
        ]


def was_stopped_for_size(trial: FrozenTrial, max_size: int | None) -> bool:
    """Return whether a trial was stopped for a smaller limit of size than this one."""
    return bool(trial.user_attrs.get("too_large")) and (
        max_size is None or trial.user_attrs["sizes"]["int8"] <= max_size
    )


def complete_trials(study: optuna.Study) -> list[FrozenTrial]:
    """Return the trials that were scored on all folds."""
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return [trial for trial in trials if "error" not in trial.user_attrs]


def _finished_trials(study: optuna.Study) -> list[FrozenTrial]:
    trials: list[FrozenTrial] = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE, TrialState.PRUNED))
    return trials


def _seconds_per_fold(trial: FrozenTrial) -> float:
    return float(trial.user_attrs["seconds"]) / max(len(trial.intermediate_values), 1)


@contextmanager
def open_journal(path: str | os.PathLike[str] | None, search: Any) -> Iterator[optuna.Study | None]:
    """Open the study of a search in a journal file, locked during the search; create them if they do not exist."""
    if path is None:
        yield None
        return
    with Path(path).open("a+b") as file:
        try:
            lock_file(file)
        except BlockingIOError:
            raise BlockingIOError(
                f"Another search is writing to {path}; wait until it has finished, or choose another file."
            ) from None
        file.seek(0)
        content = file.read()
        if content and not content.startswith(b'{"op_code"'):
            raise ValueError(f"{path} is not a journal of optuna. Choose another file.")
        for number, line in enumerate(content.split(b"\n")[:-1], 1):
            is_entry = False
            with suppress(ValueError):
                is_entry = isinstance(json.loads(line), dict)
            if not is_entry:
                raise ValueError(
                    f"{path} is damaged at line {number}: delete the lines from there on, or choose another file."
                )
        file.truncate(content.rfind(b"\n") + 1)  # the last line may be incomplete
        try:
            storage = JournalStorage(JournalFileBackend(os.fspath(path)))
            study = make_study(study_name=joblib.hash(search), storage=storage, load_if_exists=True)
        except (AssertionError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} is not a journal of optuna {optuna.__version__}, or another version wrote it: {error!r}. "
                "Choose another file, or install the version that wrote it."
            ) from error
        yield study


def make_study(**options: Any) -> optuna.Study:
    """Create a study that maximizes and prunes by the median, without a line in optuna's log."""
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        return optuna.create_study(direction="maximize", **options)
    finally:
        optuna.logging.set_verbosity(verbosity)
