"""What contexts show of words that need not be known: hashes, or projections of their characters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sklearn_hashnlp.kernels import Ragged, murmur3
from sklearn_hashnlp.language._vocabulary import BEGIN, END, UNKNOWN
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector


class OpenWords(Protocol):
    """Tells what a context shows of any word."""

    def encode(self, words: list[str]) -> NDArray[Any]:
        """Encode words."""


@dataclass(frozen=True)
class HashedWords:
    """Words as hashes, for hash embeddings."""

    def encode(self, words: list[str]) -> NDArray[np.int32]:
        """Encode words."""
        return hash_words(words)


@dataclass(frozen=True)
class ProjectedWords:
    """Words as SGNN projections of the character n-grams (1 to 3) of the marked word."""

    n_projections: int
    n_bits: int
    seed: int  # of the hyperplanes

    def encode(self, words: list[str]) -> NDArray[np.int64]:
        """Encode words."""
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


def open_words(embedding: str, n_projections: int, n_bits: int, seed: int) -> OpenWords | None:
    """Return what contexts show of words; None where only known words have vectors, by their ids."""
    if embedding == "hash":
        return HashedWords()
    return ProjectedWords(n_projections, n_bits, seed) if embedding == "sgnn" else None


def encode_within(words: OpenWords, distinct: list[str]) -> NDArray[Any]:
    """Encode the marks at the ends of sentences, and words within, where the marks are unknown words."""
    return words.encode([BEGIN, END, *(UNKNOWN if word in (BEGIN, END) else word for word in distinct)])


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
