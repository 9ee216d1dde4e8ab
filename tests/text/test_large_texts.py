"""Byte offsets and numbers of values that int32 does not hold."""

from pathlib import Path

import numpy as np
import pytest

from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.ngrams._count_ngrams import count_hashes, hash_ngrams
from sklearn_hashnlp.kernels.strings._units import Texts
from sklearn_hashnlp.text import HashingNgramVectorizer
from sklearn_hashnlp.text._count_ngrams import WORD_PATTERNS, row_pointers

LIMIT = 2**31


def available_memory() -> int:
    lines = Path("/proc/meminfo").read_text().splitlines() if Path("/proc/meminfo").exists() else []
    return next(
        (int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0
    )


def long_words(n_texts: int) -> list[str]:
    """Return texts of words of 60 letters, so that even a large buffer has few of them."""
    generator = np.random.default_rng(0)
    letters = generator.choice(list("abcdefghijklmnopqrstuvwxyzäöü"), size=(n_texts, 20, 60))
    return [" ".join("".join(word) for word in text) for text in letters]


@pytest.mark.parametrize(
    ("last", "dtype"), [(LIMIT - 1, np.int32), (LIMIT, np.int64), (3 * LIMIT + 5, np.int64)]
)
def test_row_pointers_are_int64_exactly_when_int32_does_not_reach(last: int, dtype: type) -> None:
    ends = np.array([0, 5, LIMIT // 2, LIMIT - 2, last])
    assert row_pointers(ends).dtype == dtype
    assert row_pointers(ends).tolist() == ends.tolist()


@pytest.mark.slow  # a minute, and 11 GB of memory
@pytest.mark.skipif(available_memory() < 13e9, reason="needs 13 GB of free memory")
@pytest.mark.parametrize("pattern", [r"(?u)\b\w\w+\b", r"\w+|[^\w\s]"])
def test_a_buffer_of_more_than_two_gigabytes(pattern: str) -> None:
    texts = long_words(500)
    block = np.frombuffer("".join(f"{text}\n" for text in texts).encode(), dtype=np.uint8)
    sizes = np.array([len(text.encode()) + 1 for text in texts])
    n_blocks = int(2.2e9 / len(block)) + 1
    values = np.tile(block, n_blocks)
    offsets = np.concatenate([[0], np.cumsum(np.tile(sizes, n_blocks))])
    assert offsets[-1] == len(values) > LIMIT
    buffer = Texts(Ragged(values, offsets), np.zeros(len(offsets) - 1, dtype=bool), False)
    vectorizer = HashingNgramVectorizer(token_pattern=pattern, lowercase=False, norm=None)
    units = WORD_PATTERNS[pattern].tokenize(buffer)
    indices, data, indptr = count_hashes(
        hash_ngrams(units, (1, 1)), n_features=2**20, alternate_sign=True
    )
    part = vectorizer.transform(texts)
    n_values = part.nnz
    assert len(indices) == n_blocks * n_values
    for number in (0, n_blocks // 2, n_blocks - 2, n_blocks - 1):  # the last two lie past 2**31
        span = slice(number * n_values, (number + 1) * n_values)
        np.testing.assert_array_equal(indices[span], part.indices)
        np.testing.assert_array_equal(data[span], part.data)
        np.testing.assert_array_equal(
            indptr[number * 500 : (number + 1) * 500 + 1] - span.start, part.indptr
        )


@pytest.mark.slow  # a minute
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_documents_of_more_than_two_gigabytes_are_the_rows_of_their_parts(n_jobs: int) -> None:
    texts = long_words(500)
    n_blocks = int(2.2e9 / sum(len(text.encode()) for text in texts)) + 1
    vectorizer = HashingNgramVectorizer(ngram_range=(1, 2), n_jobs=n_jobs, dtype=np.float32)
    X = vectorizer.transform(texts * n_blocks)
    part = vectorizer.transform(texts)
    assert X.shape == (500 * n_blocks, part.shape[1])
    assert X.indices.dtype == X.indptr.dtype == np.int32  # few values, though many bytes
    for number in range(0, n_blocks, 97):
        rows = X[number * 500 : (number + 1) * 500]
        np.testing.assert_array_equal(rows.indices, part.indices)
        np.testing.assert_array_equal(rows.data, part.data)
    assert X.nnz == n_blocks * part.nnz


@pytest.mark.slow  # a minute, and 12 GB of memory
@pytest.mark.skipif(available_memory() < 13e9, reason="needs 13 GB of free memory")
def test_one_document_of_more_than_two_gigabytes() -> None:
    [block] = [" ".join(long_words(100)) + " "]
    # ASCII has a path of its own
    block = block.replace("ä", "a").replace("ö", "o").replace("ü", "u")
    n_blocks = int(2.2e9 / len(block)) + 1
    document = block * n_blocks
    assert len(document) > LIMIT
    vectorizer = HashingNgramVectorizer(lowercase=False, norm=None, alternate_sign=False)
    X, part = vectorizer.transform([document]), vectorizer.transform([block])
    np.testing.assert_array_equal(X.indices, part.indices)
    np.testing.assert_array_equal(X.data, part.data * n_blocks)
