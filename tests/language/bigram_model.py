"""The smallest language model on the base: bigrams counted with add-one smoothing. It needs no
torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sklearn_hashnlp.language._base_language_model import BaseLanguageModel
from sklearn_hashnlp.language._corpus import read_training_corpus
from sklearn_hashnlp.language._tokenizer import build_tokenizer


class BigramModel(BaseLanguageModel):
    def __init__(
        self,
        *,
        alpha: float = 1.0,
        vocabulary: dict[str, int] | None = None,
        max_features: int | None = None,
        min_count: int = 1,
        special_tokens: tuple[str, str, str] = ("<s>", "</s>", "<unk>"),
    ) -> None:
        self.alpha = alpha
        self.vocabulary = vocabulary
        self.max_features = max_features
        self.min_count = min_count
        self.special_tokens = special_tokens

    def fit(self, X: Any, y: Any = None) -> BigramModel:
        corpus = read_training_corpus(X, order=2, caller=type(self).__name__)
        tokenizer = build_tokenizer(self, corpus, order=2)
        windows = tokenizer.windows(corpus)
        contexts, words = windows.take(np.arange(len(windows)))
        counts = np.full((len(tokenizer.vocabulary), tokenizer.vocabulary.n_classes), self.alpha)
        np.add.at(counts, (contexts[:, 0], words), 1)
        self.table_ = np.log(counts / counts.sum(axis=1, keepdims=True))
        self._set_tokenizer(tokenizer)
        return self

    def _log_probs(self, contexts):
        return self.table_[contexts[:, 0]]

    def _log_prob(self, windows):
        contexts, words = windows.take(np.arange(len(windows)))
        return self.table_[contexts[:, 0], words]

    def _get_model_state(self):
        values, arrays = super()._get_model_state()
        return values, arrays | {"table": self.table_}

    def _set_model_state(self, values, arrays):
        super()._set_model_state(values, arrays)
        self.table_ = arrays["table"]
