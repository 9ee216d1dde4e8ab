"""The vectors of encoders that learned coefficients of words, character n-grams and pairs."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._sklearn import check_fitted
from sklearn_hashnlp._threads import check_n_jobs, effective_n_jobs, map_blocks
from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels.ngrams._int4_table import Int4Table
from sklearn_hashnlp.sentences._ngram_regression import Matrix, NgramDictionary
from sklearn_hashnlp.sentences._pretrained_weights import load_reference
from sklearn_hashnlp.sentences._sentence_reader import WORD_SPLITTER
from sklearn_hashnlp.sentences._sentence_vectors import CHUNK_CHARACTERS, SentenceVectors
from sklearn_hashnlp.text._documents import as_documents, in_chunks, plain_texts
from sklearn_hashnlp.text._word_projections import encode_words

_MIN_TEXTS = 64  # per thread: fewer take less time than starting it
_ENCODER = "_encoder"  # the attribute of a model


@dataclass
class NgramModel:
    """What an encoder learned: n-grams, a row of coefficients for each, and the mean vector."""

    dictionary: NgramDictionary
    coefficients: Matrix | Int4Table  # (n_ngrams, dim)
    mean: NDArray[np.float32]  # (dim,)
    reference: dict[str, str] | None = None  # to weights that come with the package

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields, without what is computed of them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def encoder(self, max_words: int) -> _native.NgramEncoder:
        """Return the native encoder of texts, which the model keeps."""
        kept = vars(self).get(_ENCODER)
        if kept is None or kept[0] != max_words:
            native = self.dictionary.encoder(self.coefficients, self.mean, max_words)
            kept = vars(self)[_ENCODER] = (max_words, native)
        encoder: _native.NgramEncoder = kept[1]
        return encoder

    def to_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return JSON values and arrays for :meth:`from_state`."""
        if self.reference is not None:
            return {"pretrained": self.reference}, {}
        dictionary = self.dictionary
        return {"sizes": list(dictionary.sizes), "n_texts": dictionary.n_texts}, {
            "fingerprints": dictionary.fingerprints,
            "counts": dictionary.counts,
            "coefficients.values": self.coefficients,
            "mean": self.mean,
        }

    @classmethod
    def from_state(cls, values: dict[str, Any], arrays: dict[str, Any]) -> Self:
        """Build a model from its state."""
        if "pretrained" in values:
            model: Self = load_reference(values["pretrained"])
            return model
        n_words, n_ngrams, n_pairs = sizes = tuple(values["sizes"])
        names = ("fingerprints", "counts", "coefficients.values", "mean")
        fingerprints, counts, coefficients, mean = (arrays[name] for name in names)
        n_rows = n_words + n_ngrams + n_pairs
        if not n_rows == len(fingerprints) == len(counts) == coefficients.shape[0]:
            raise ValueError(
                f"Expected {n_rows} n-grams, got {len(fingerprints)} hashes, {len(counts)} counts "
                f"and {coefficients.shape[0]} rows of coefficients."
            )
        if min(sizes) < 0 or coefficients.shape[1:] != mean.shape:
            raise ValueError(
                f"Expected a mean of the shape {coefficients.shape[1:]} and sizes from 0 on, got "
                f"{mean.shape} and {sizes}."
            )
        dictionary = NgramDictionary(fingerprints, counts, sizes, values["n_texts"])
        return cls(dictionary, coefficients, mean)


class NgramVectors(SentenceVectors):
    """A sentence encoder whose vectors are sums of coefficients, in one native call."""

    _model: NgramModel

    @property
    def coef_(self) -> NDArray[np.float32]:
        """The coefficients of the n-grams."""
        check_fitted(self, "_model")
        table = self._model.coefficients
        return table.values() if isinstance(table, Int4Table) else table

    @property
    def intercept_(self) -> NDArray[np.float32]:
        """The mean of the vectors; zeros with ``n_components``."""
        check_fitted(self, "_model")
        return self._model.mean

    @property
    def _n_features_out(self) -> int:
        return len(self._model.mean)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _get_model_state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return everything learned as JSON values and arrays, perhaps in lower precision."""
        check_fitted(self, "_model")
        return self._model.to_state()

    def _set_model_state(self, values: dict[str, Any], arrays: dict[str, Any]) -> None:
        """Load the state that :meth:`_get_model_state` returned."""
        self._model = NgramModel.from_state(values, arrays)

    def _native_encoder(self) -> _native.NgramEncoder:
        """Return the native encoder of the present parameters, always the same object."""
        check_fitted(self, "_model")
        return self._model.encoder(int(self.max_words))

    def _encode(self, X: Any) -> NDArray[np.float32]:
        native, name = self._native_encoder(), type(self).__name__
        check_n_jobs(self.n_jobs)
        parts, longest = [np.empty((0, native.n_columns), dtype=np.float32)], 0
        for first, chunk in in_chunks(as_documents(X, caller=name), n_characters=CHUNK_CHARACTERS):
            texts = plain_texts(chunk, first=first, caller=name)
            try:
                vectors, n_words = _encode_texts(native, texts, self.n_jobs)
            except UnicodeEncodeError:  # raised again, with the index of the text
                encode_words(texts, first=first, featurizer=WORD_SPLITTER, caller=name)
                raise
            longest = max(longest, n_words)
            parts.append(vectors)
        self._warn_of_truncation(longest)
        return parts[-1] if len(parts) <= 2 else np.concatenate(parts)


def _encode_texts(
    native: _native.NgramEncoder, texts: list[str], n_jobs: int | None
) -> tuple[NDArray[np.float32], int]:
    """Return the vectors of texts, and the largest number of words."""
    vectors = np.empty((len(texts), native.n_columns), dtype=np.float32)
    n_words = list[int]()

    def encode_block(block: slice) -> None:
        # a list that no other thread can change meanwhile
        n_words.append(native.encode(texts[block], vectors[block]))

    # For few texts, finding the number of processors takes as long as the rest.
    n_threads = effective_n_jobs(n_jobs) if len(texts) >= 2 * _MIN_TEXTS else 1
    map_blocks(encode_block, len(texts), n_threads, min_rows=_MIN_TEXTS)
    return vectors, max(n_words, default=0)
