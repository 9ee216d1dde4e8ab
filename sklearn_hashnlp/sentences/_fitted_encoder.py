"""A fitted SGNNSentenceEncoder: its vectors, and its state in files and checkpoints."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from sklearn_hashnlp.sentences._encode_sentences import check_weight, encode_sentences
from sklearn_hashnlp.sentences._paragraph_batches import take_rows
from sklearn_hashnlp.sentences._sentence_net import SentenceNet, TrainingState, net_from_state
from sklearn_hashnlp.sentences._sentence_reader import (
    WORD_SPLITTER,
    SentenceReader,
    truncate_words,
)
from sklearn_hashnlp.sentences._sentence_vectors import CHUNK_CHARACTERS, SentenceVectors
from sklearn_hashnlp.text._documents import as_documents, in_chunks
from sklearn_hashnlp.text._word_projections import encode_words
from sklearn_hashnlp.training._checkpoints import storable_copy
from sklearn_hashnlp.training._estimator import FittedNet
from sklearn_hashnlp.training._settings import Seeds

_READER = "reader."  # prefix of the names of the reader's arrays


class FittedSentenceEncoder(SentenceVectors, FittedNet):
    """A sentence encoder with what it learned: a net, and the frequencies of words in a reader."""

    _net: SentenceNet
    log_: list[dict[str, Any]]
    waiting_share_: float
    context_weight: float | Literal["auto"]
    n_jobs: int | None
    _reader: SentenceReader
    _seeds: Seeds
    _trained_on: int  # checksum of the training paragraphs
    _training_state: TrainingState | None  # progress of a training that can be resumed
    _measures = ("train_loss", "dur")
    _net_from_state = staticmethod(net_from_state)

    def _so_far(self) -> Self:
        """Return an encoder of the epochs so far, which shares the net."""
        model = self._shallow_copy()
        model._keep_net(self.net_, list(self.history_))
        return model

    def _snapshot(self) -> Self:
        """Return an encoder that shares the net and can be saved."""
        model: Self = storable_copy(self._so_far(), "scoring", "sentence_splitter")
        return model

    def _encode(self, X: Any) -> NDArray[np.float32]:
        """Compute sentence vectors as an array, even if ``set_output`` has set a container."""
        check_is_fitted(self)
        name = type(self).__name__
        weight = check_weight(self.context_weight, self.net_.module_.network, caller=name)
        encode_rows = partial(
            encode_sentences, self.net_, self._reader, context_weight=weight, n_jobs=self.n_jobs
        )
        longest = 0
        parts = []
        indices = []
        # equal texts have one vector: in another batch its last bits would differ
        seen: dict[str, int] = {}
        for first, chunk in in_chunks(as_documents(X, caller=name), n_characters=CHUNK_CHARACTERS):
            words, rows = encode_words(chunk, first=first, featurizer=WORD_SPLITTER, caller=name)
            longest = max(longest, int(np.diff(rows.offsets).max(initial=0)))
            n_seen = len(seen)
            indices.append(np.array([seen.setdefault(text, len(seen)) for text in chunk]))
            distinct, firsts = np.unique(indices[-1], return_index=True)
            rows = take_rows(rows, firsts[distinct >= n_seen])
            parts.append(encode_rows(words, truncate_words(rows, self.max_words)))
        self._warn_of_truncation(longest)
        vectors = (
            np.concatenate(parts)
            if parts
            else np.empty((0, self._n_features_out), dtype=np.float32)
        )
        return (
            vectors if sum(map(len, indices)) == len(vectors) else vectors[np.concatenate(indices)]
        )

    @property
    def _n_features_out(self) -> int:
        return int(self.net_.module_.network.dim)

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return everything learned, as JSON values and as arrays."""
        check_is_fitted(self)
        net_values, net_arrays = self.net_.to_state()
        reader_values, reader_arrays = self._reader.to_state()
        arrays = net_arrays | {f"{_READER}{name}": array for name, array in reader_arrays.items()}
        return net_values | {
            "history": self.history_,
            "log": self.log_,
            "reader": reader_values,
            "seeds": list(self._seeds),
            "trained_on": self._trained_on,
            "waiting_share": self.waiting_share_,
        }, arrays

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        """Load the state of :meth:`_get_model_state`; the parameters may have changed since."""
        of_reader = {
            name.removeprefix(_READER): arrays[name] for name in arrays if name.startswith(_READER)
        }
        self.log_ = values["log"]
        self.waiting_share_ = values["waiting_share"]
        self._training_state = None
        self._seeds, self._trained_on = Seeds(*values["seeds"]), values["trained_on"]
        self._reader = SentenceReader.from_state(values["reader"], of_reader)
        self._keep_net(net_from_state(values, arrays, values["history"]), [])

    def _get_training_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
        state = self._training_state
        if state is None and not self.net_.optimizer_.state:
            return None
        values, arrays = self.net_.to_training_state()
        course, best = (None, {}) if state is None else state.to_state()
        return values | {"course": course}, arrays | best

    def _set_training_state(self, values: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        super()._set_training_state(values, arrays)
        self._training_state = (
            None if values["course"] is None else TrainingState.from_state(values["course"], arrays)
        )
