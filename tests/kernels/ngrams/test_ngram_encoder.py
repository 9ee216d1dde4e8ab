"""Vectors of texts against sums one by one in double precision, and tables in 4 bits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.kernels import _native
from sklearn_hashnlp.kernels.ngrams._int4_table import Int4Table
from sklearn_hashnlp.kernels.ngrams._ngram_encoder import ngram_encoder
from tests.oracles import ngram_encoder as oracle
from tests.oracles import ngrams
from tests.strategies import TEXT, TEXTS

OPTIONS = {"unknown_weight": 4.5, "character_weight": 1.5, "norm_power": 0.7}
MANY = [
    "The cat sat on the mat, the CAT!",
    "",
    "na\u00efve caf\u00e9s \u65e5\u672c\u8a9e \u00c9t\u00e9",
    "NUL \x00 within, and \x00",
    "aaaaaaaaaaaaaaaaaaaa a " * 3,
    "one " + "long" * 3000,
    "many words " * 500,
    "?! ... ?!",
    *(f"text {i} of {i % 7} many, {i * i}" for i in range(99)),
]


class Model:
    """A dictionary of a share of the n-grams of some texts, with random weights and rows."""

    def __init__(self, texts: list[str], width: int, seed: int, share: float = 0.7) -> None:
        rng = np.random.default_rng(seed)
        found = [oracle.tokens(text, 10**6) for text in texts]
        words = list(dict.fromkeys(word for tokens in found for word in tokens))
        parts = [
            words,
            list(dict.fromkeys(g for word in words for g in oracle.character_ngrams(word))),
            list(dict.fromkeys(pair for tokens in found for pair in pairwise(tokens))),
        ]
        parts = [[entry for entry in part if rng.random() < share] for part in parts]
        n = sum(map(len, parts))
        self.weights = (1 + 3 * rng.random(n)).astype(np.float32)
        self.table = rng.normal(size=(n, width)).astype(np.float32)
        self.mean = (0.1 * rng.normal(size=width)).astype(np.float32)
        self.n_words = len(parts[0])
        rows = iter(zip(self.weights.astype(float), self.table.astype(float), strict=True))
        self.entries = [{key: oracle.Entry(*next(rows)) for key in part} for part in parts]
        self.hashes = np.array(
            [
                *map(oracle.word_fingerprint, parts[0]),
                *(ngrams.fingerprint(list(gram)) for gram in parts[1]),
                *(oracle.pair_fingerprint(*pair) for pair in parts[2]),
            ],
            dtype=np.uint64,
        )

    def expected(self, texts: list[str], max_words: int) -> np.ndarray:
        """Return the vectors of the oracle."""
        rows = [
            oracle.vector(text, *self.entries, self.mean, max_words=max_words, **OPTIONS)
            for text in texts
        ]
        return np.array(rows).reshape(len(texts), len(self.mean))

    def encoder(self, table=None, max_words: int = 10**6) -> _native.NgramEncoder:
        """Return the kernel."""
        table = self.table if table is None else table
        return ngram_encoder(
            self.hashes,
            self.n_words,
            self.weights,
            table,
            self.mean,
            ngram_range=(3, 5),
            max_words=max_words,
            **OPTIONS,
        )


def encode(native: _native.NgramEncoder, texts: list[str]) -> np.ndarray:
    vectors = np.full((len(texts), native.n_columns), np.nan, dtype=np.float32)
    native.encode(texts, vectors)
    return vectors


@given(TEXTS, st.integers(1, 40), st.integers(0, 99), st.sampled_from([1, 3, 10**6]))
def test_vectors_are_those_of_the_definition(texts, width, seed, max_words):
    model = Model(texts, width, seed)
    vectors = encode(model.encoder(max_words=max_words), texts)
    # a sum may cancel almost to nothing before it gets its unit length
    np.testing.assert_allclose(vectors, model.expected(texts, max_words), atol=1e-4)


def test_long_texts_and_many():
    model = Model(MANY, 20, 0)
    for max_words in (2, 10**6):
        vectors = encode(model.encoder(max_words=max_words), MANY)
        np.testing.assert_allclose(vectors, model.expected(MANY, max_words), atol=1e-4)
    assert model.encoder(max_words=2).encode(MANY, np.empty((len(MANY), 20), np.float32)) == 1000


@given(TEXT, TEXTS, st.integers(1, 9))
def test_a_row_depends_on_its_text_alone(text, others, n_times):
    native = Model([text, *others], 17, 0).encoder()
    texts = [*others, text, *MANY] * n_times
    vectors = encode(native, texts)
    for at in np.flatnonzero([other == text for other in texts]):
        assert vectors[at].tobytes() == encode(native, [text]).tobytes()


@pytest.mark.parametrize("width", [1, 2, 7, 8, 33, 384])
def test_every_level_and_codes_give_the_same_bits(level, width):
    model = Model(MANY, width, width)
    packed = Int4Table.of(model.table)
    values = encode(model.encoder(packed.values()), MANY)
    assert encode(model.encoder(packed), MANY).tobytes() == values.tobytes()
    before = encode(model.encoder(), MANY)
    _native.set_level("baseline")
    assert encode(model.encoder(), MANY).tobytes() == before.tobytes()
    assert encode(model.encoder(packed), MANY).tobytes() == values.tobytes()
    _native.set_level(level)


def test_threads_share_an_encoder():
    native = Model(MANY, 50, 0).encoder()
    expected = encode(native, MANY * 20).tobytes()
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: encode(native, MANY * 20).tobytes(), range(8)))
    assert set(results) == {expected}


def test_nothing_is_known():
    empty = Model([], 3, 0)
    assert len(empty.hashes) == 0
    vectors = encode(empty.encoder(), ["a b", "", "\u00e9"])
    unit = empty.mean / np.linalg.norm(empty.mean)
    np.testing.assert_allclose(vectors, [unit, [0, 0, 0], unit], atol=1e-6)
    empty.mean[:] = 0
    assert not encode(empty.encoder(), ["a b"]).any()
    assert encode(empty.encoder(), []).shape == (0, 3)


def test_arrays_of_other_shapes_are_refused():
    model = Model(MANY, 6, 0)
    with pytest.raises(ValueError, match="each n-gram needs a weight and a row"):
        model.encoder(model.table[1:])
    with pytest.raises(ValueError, match="each n-gram needs a weight and a row"):
        model.encoder(Int4Table.of(model.table[:, :3]))
    for shape in ((1, 6), (2, 5)):
        with pytest.raises(ValueError, match="vectors needs a row for each text"):
            model.encoder().encode(["a", "b"], np.empty(shape, np.float32))
    with pytest.raises(ValueError, match="in 4 bits needs codes of uint8"):
        Int4Table(np.zeros((3, 3), np.uint8), np.zeros(3, np.float32), 4)
    with pytest.raises(UnicodeEncodeError):
        encode(model.encoder(), ["fine", "\ud800"])


@given(st.integers(0, 40), st.integers(0, 30), st.integers(0, 99))
def test_levels_of_4_bits_are_the_nearest(n_rows, width, seed):
    rng = np.random.default_rng(seed)
    table = rng.standard_t(3, size=(n_rows, width)).astype(np.float32)
    table *= (rng.random((n_rows, 1)) < 0.9) * rng.choice([1e-6, 1, 1e6], (n_rows, 1))
    packed = Int4Table.of(table.astype(np.float32))
    assert packed.shape == packed.values().shape == table.shape
    assert packed.codes.nbytes == n_rows * -(-width // 2)
    for row, values, scale in zip(table, packed.values(), packed.scales, strict=True):
        largest = np.percentile(np.abs(row), 99) if width else 0
        np.testing.assert_allclose(scale, largest / 7, rtol=1e-5)
        levels = [level * float(scale) for level in range(-7, 8)]
        nearest = [min(levels, key=lambda level, value=value: abs(level - value)) for value in row]
        np.testing.assert_allclose(np.abs(values - row), np.abs(nearest - row), atol=1e-5 * scale)


def test_a_row_of_few_numbers_keeps_them():
    table = np.zeros((1, 200), np.float32)
    table[0, 3] = -2
    assert Int4Table.of(table).values().tolist() == table.tolist()
