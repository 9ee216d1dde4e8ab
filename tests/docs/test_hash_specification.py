"""The golden vectors of the page on hashing are those of the package; its code is compared by
`pytest docs`.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from sklearn_hashnlp._hash_specification import HASH_SPECIFICATION
from sklearn_hashnlp.kernels._hashes import murmur3
from sklearn_hashnlp.kernels._ragged import Ragged
from sklearn_hashnlp.kernels.projections._hyperplanes import (
    PROJECTION_SPECIFICATION,
    Hyperplanes,
    coefficients,
)
from sklearn_hashnlp.nn import HashEmbedding, NgramHashEmbedding
from sklearn_hashnlp.nn._hashing import history_hashes, mix_tensor
from sklearn_hashnlp.text import FrequentNgramVectorizer, HashingNgramVectorizer
from tests.oracles.hashing import splitmix64

PAGE = (Path(__file__).parents[2] / "docs" / "hash_specification.md").read_text(encoding="utf-8")


def rows_of(heading):
    """Return the rows of the table whose heading begins so, cells without backquotes."""
    lines = PAGE.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(f"| {heading} "))
    rows = []
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return rows


def bytes_of(texts):
    encoded = [text.encode() for text in texts]
    return Ragged(
        np.frombuffer(b"".join(encoded), np.uint8),
        np.cumsum([0, *map(len, encoded)], dtype=np.int64),
    )


def test_the_versions():
    versions = {row[0].split()[0]: int(row[2]) for row in rows_of("version")}
    assert versions == {"hash": HASH_SPECIFICATION, "projection": PROJECTION_SPECIFICATION}


def test_murmur3():
    rows = rows_of("text | bytes")
    assert len(rows) >= 10
    for text, data, seed, unsigned, signed in rows:
        text = ast.literal_eval(text)
        assert text.encode() == bytes.fromhex("" if data == "none" else data)
        assert murmur3(bytes_of([text]), seed=int(seed, 16)).tolist() == [int(signed)]
        assert int(signed) % 2**32 == int(unsigned, 16)


def test_fmix32():
    rows = [[int(cell, 16) for cell in row] for row in rows_of("key")]
    assert mix_tensor(torch.tensor([key for key, _ in rows])).tolist() == [
        mixed for _, mixed in rows
    ]


def test_columns_of_ngrams():
    rows = rows_of("text | n")
    for text, orders, pairs in rows:
        ngram_range = tuple(map(int, orders.split(" to ")))
        X = HashingNgramVectorizer(ngram_range=ngram_range, norm=None).transform(
            [ast.literal_eval(text)]
        )
        expected = dict(
            tuple(map(int, pair.split(": "))) for pair in pairs.split(", ") if pair != "none"
        )
        assert dict(zip(X.indices.tolist(), X.data.astype(int).tolist(), strict=True)) == expected
    assert len(rows) >= 5


def test_splitmix64():
    for seed, *values in rows_of("seed"):
        assert splitmix64(int(seed), 3) == [int(value, 16) for value in values]


@pytest.mark.parametrize("variant", ["improved", "paper"])
def test_rows_of_hash_embeddings(variant):
    for key, seed, row, *components in rows_of("id"):
        embedding = HashEmbedding(
            10_000, 2, num_buckets=500, num_hashes=2, seed=int(seed), variant=variant
        )
        ids = torch.tensor(int(key), dtype=torch.uint64 if int(key) >= 2**63 else torch.int64)
        located = [found.tolist() for found in embedding.locate(ids)]
        slots = [int(slot) for slot in components[["improved", "paper"].index(variant)].split(", ")]
        assert located == [int(row), slots]


@pytest.mark.parametrize("kind", ["normal", "sign", "google"])
def test_coefficients_of_hyperplanes(kind):
    rows = [list(map(int, row)) for row in rows_of("column")]
    for column, hyperplane, seed, *values in rows:
        planes = Hyperplanes.of(kind, hyperplane + 1, seed=seed)
        found = int(next(iter(coefficients([column], planes)))[hyperplane])
        assert found == values[["normal", "sign", "google"].index(kind)]
    assert len(rows) >= 10


def test_histories():
    for ids, hashes in rows_of("word ids"):
        found = history_hashes(torch.tensor([list(map(int, ids.split(", ")))]))[0].tolist()
        assert found == [int(hash_, 16) for hash_ in re.findall(r"0x\w+", hashes)]


def test_64_bits_of_ngrams():
    for words, fingerprint in rows_of("words"):
        n = len(words.split())
        vectorizer = FrequentNgramVectorizer(max_features=1, ngram_range=(n, n)).fit([words])
        assert vectorizer.fingerprints_.tolist() == [int(fingerprint, 16)]


def test_rows_of_ngrams_of_token_ids():
    rows = rows_of("tokens")
    assert len(rows) >= 5
    for tokens, *expected in rows:
        ids = torch.tensor([list(map(int, tokens.split(", ")))])
        for scheme, row in zip(
            ("multiply_shift", "multiplicative_xor", ("polynomial", 2**31)), expected, strict=True
        ):
            spec = NgramHashEmbedding(10**6, 1, orders=(ids.shape[1],), scheme=scheme).spec
            assert spec.locate(ids, None, ids.shape[1] - 1)[0].item() == int(row)
