"""What a trained language model does: score, predict and sample."""

from __future__ import annotations

import math
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.estimators._language_corpus import numbered_windows
from sklearn_hashnlp.estimators._language_net import LanguageNet
from sklearn_hashnlp.estimators._sentences import read_corpus
from sklearn_hashnlp.estimators._training import plain_torch
from sklearn_hashnlp.estimators._vocabulary import Vocabulary
from sklearn_hashnlp.estimators._word_windows import WordWindows


class TrainedLanguageModel(BaseEstimator):  # type: ignore[misc]
    """The half of :class:`HsigmoidLanguageModel` that needs a trained net."""

    net_: LanguageNet
    history_: list[dict[str, Any]]
    _vocabulary: Vocabulary
    _translation: NDArray[np.int32] | None

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Give the log-probability of each sentence."""
        windows = self._windows(X)
        sums = np.concatenate(([0.0], np.cumsum(self._score(windows))))
        return np.diff(sums[windows.offsets])

    def score(self, X: Any, y: Any = None) -> float:
        """Give the mean log-likelihood of a word."""
        windows = self._windows(X)
        return float(self._score(windows).mean())

    def perplexity(self, X: Any) -> float:
        """Give the perplexity of sentences."""
        return math.exp(-self.score(X))

    def _windows(self, X: Any) -> WordWindows:
        check_is_fitted(self)
        corpus = read_corpus(X, order=self.order, caller=type(self).__name__)
        return numbered_windows(self, corpus, self._vocabulary, self._translation)

    def _score(self, windows: WordWindows) -> NDArray[np.float64]:
        with plain_torch(torch.device(self.net_.device).type):
            return self.net_.score_windows(windows)

    def _hold(self, net: LanguageNet, vocabulary: Vocabulary, translation: NDArray[np.int32] | None) -> None:
        self.net_ = net
        self._vocabulary, self._translation = vocabulary, translation
        self.vocabulary_ = dict(vocabulary.number_of)
        self.history_ = [_plain_entry(entry) for entry in islice(net.history, None)]
        self.n_parameters_ = sum(parameter.numel() for parameter in net.module_.parameters())


def _plain_entry(entry: dict[str, Any]) -> dict[str, Any]:
    measures = ("train_loss", "valid_loss", "train_perplexity", "valid_perplexity", "dur")
    return {"epoch": int(entry["epoch"])} | {name: float(entry[name]) for name in measures if name in entry}
