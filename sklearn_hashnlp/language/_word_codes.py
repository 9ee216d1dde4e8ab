"""Codes of words without a vocabulary: hashes or projections of their characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp._named_sizes import split_sizes
from sklearn_hashnlp.kernels._hashes import murmur3
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.language._vocabulary import SpecialTokens
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector

EMBEDDINGS: Final[dict[str, tuple[int, ...]]] = {"table": (), "hash": (10**6, 10**5), "sgnn": (80, 14)}
"""The kinds of word embeddings and their sizes: rows of importance table and pool; projections and bits of each."""


class WordEncoder(Protocol):
    """Encodes any word for the contexts of a network."""

    def encode(self, words: list[str]) -> NDArray[Any]:
        """Return an integer or a row of integers for each word."""


@dataclass(frozen=True)
class HashEncoder:
    """Words as hashes, for hash embeddings."""

    def encode(self, words: list[str]) -> NDArray[np.int32]:
        """Return the hashes, of shape (n_words,)."""
        return hash_words(words)


@dataclass(frozen=True)
class ProjectionEncoder:
    """Words as SGNN projections of the character n-grams (1 to 3) of the word in ``<`` and ``>``."""

    n_projections: int
    n_bits: int
    seed: int  # of the hyperplanes

    def encode(self, words: list[str]) -> NDArray[np.int64]:
        """Return rows of the word's hash and its packed bits, padded with zeros to whole int64."""
        n_bytes = -(-self.n_projections * self.n_bits // 8)
        codes = np.zeros((len(words), 8 * (1 + -(-n_bytes // 8))), dtype=np.uint8)
        if words:  # scikit-learn refuses a matrix without rows
            _check_encodable(words)
            codes[:, :8] = hash_words(words).astype(np.int64)[:, np.newaxis].view(np.uint8)
            projector = SGNNProjector(
                n_projections=self.n_projections, n_bits=self.n_bits, output="packed", random_state=self.seed
            )
            codes[:, 8 : 8 + n_bytes] = projector.transform(CharNgramFeaturizer().transform(words))
        return codes.view(np.int64)


def make_word_encoder(embedding: Any, seed: int) -> WordEncoder | None:
    """Return the encoder of a kind of embedding; None if words outside the vocabulary have no vectors."""
    name, sizes = split_sizes(embedding, EMBEDDINGS)
    if name == "hash":
        return HashEncoder()
    return ProjectionEncoder(sizes[0], sizes[1], seed) if name == "sgnn" else None


def encode_with_special_tokens(encoder: WordEncoder, words: list[str], special_tokens: SpecialTokens) -> NDArray[Any]:
    """Encode the start token, the end token, and words within sentences, where these two are unknown words."""
    start, end, unknown = special_tokens
    return encoder.encode([start, end, *(unknown if word in (start, end) else word for word in words)])


def hash_words(words: list[str]) -> NDArray[np.int32]:
    """Hash words to 31 bits."""
    encoded = [word.encode("utf-8", "surrogatepass") for word in words]
    offsets = np.concatenate(([0], np.cumsum([len(word) for word in encoded], dtype=np.int64)))
    rows = Ragged(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets.astype(np.int64))
    return murmur3(rows) & np.int32(2**31 - 1)


def _check_encodable(words: list[str]) -> None:
    for word in words:
        try:
            word.encode()
        except UnicodeEncodeError as error:
            raise ValueError(
                f"HsigmoidLanguageModel(embedding='sgnn') projects the characters of words, and the word {word!r} "
                f"holds the lone surrogate {word[error.start]!r}, which UTF-8 cannot encode. Repair the text with "
                "text.encode('utf-8', 'replace').decode('utf-8')."
            ) from error
