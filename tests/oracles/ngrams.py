"""n-grams, skip-grams and their hashes, one string at a time."""

from collections import Counter

from sklearn.utils import murmurhash3_32

from tests.oracles.hashing import splitmix64


def ngrams(units: list[str], ngram_range: tuple[int, int]) -> list[list[str]]:
    """Return all n-grams of some units."""
    spans = [
        (i, i + n) for i in range(len(units)) for n in range(ngram_range[0], ngram_range[1] + 1)
    ]
    return [units[a:b] for a, b in spans if b <= len(units)]


def skipgrams(
    words: list[str], n: int, max_skip: int, start: int = 0, before: tuple[int, ...] = ()
) -> list[str]:
    """Return all skip-grams: n words in order, with at most ``max_skip`` skipped between the first
    and the last.
    """
    if n == 0:
        return [" ".join(words[i] for i in before)]
    grams = []
    for i in range(start, len(words)):
        chosen = (*before, i)
        if chosen[-1] - chosen[0] - len(chosen) + 1 <= max_skip:
            grams += skipgrams(words, n - 1, max_skip, i + 1, chosen)
    return grams


def char_ngrams(text: str, ngram_range: tuple[int, int] = (1, 3)) -> list[str]:
    """Return the character n-grams of the words of a text, each between ``<`` and ``>``."""
    words = [list(f"<{word}>") for word in text.split()]
    return ["".join(ngram) for word in words for ngram in ngrams(word, ngram_range)]


def fingerprint(words: list[str]) -> int:
    """Return the 64-bit fingerprint of an n-gram by its definition."""
    state = 0
    for word in words:
        high, low = (
            murmurhash3_32(word.encode(), seed=seed, positive=True) for seed in (0x9747B28C, 0)
        )
        (state,) = splitmix64(state ^ (high << 32 | low), 1)
    return state


def count_hashes(
    rows: list[list[int]], n_features: int, alternate_sign: bool, binary: bool
) -> tuple[list[int], list[float], list[int]]:
    """Count hashes with one dictionary per row; return the arrays of a CSR matrix."""
    indices = []
    data = []
    indptr = [0]
    for row in rows:
        counts: Counter[int] = Counter()
        for value in row:
            counts[abs(value) % n_features] += -1 if alternate_sign and value < 0 else 1
        for column in sorted(counts):
            indices.append(column)
            data.append(1.0 if binary else float(counts[column]))
        indptr.append(len(indices))
    return indices, data, indptr
