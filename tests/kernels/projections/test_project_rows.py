"""Projections of rows against sums in exact and float64 arithmetic; equal rows against a
dictionary.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_hashnlp.kernels.projections import _project_rows
from sklearn_hashnlp.kernels.projections._hyperplanes import PRIME, Hyperplanes, coefficients
from sklearn_hashnlp.kernels.projections._project_rows import first_equal_rows, project_rows

from ...oracles import hyperplanes as plain

FORMS = {"bits": np.uint8, "signs": np.int8, "packed": np.uint8, "sums": np.float32}
KINDS = ["normal", "sign", "google"]
INTEGERS = st.integers(-3, 3) | st.integers(-300, 300) | st.integers(-(2**40), 2**40)
VALUES = INTEGERS.map(float) | st.floats(-1e6, 1e6)


@st.composite
def sparse_rows(draw, values=VALUES):
    """Return rows of ascending columns and their values, as lists of pairs."""
    columns = st.sets(st.integers(0, 30) | st.integers(0, 2**63 - 1), max_size=12)
    rows = [
        [(column, draw(values)) for column in sorted(draw(columns))]
        for _ in range(draw(st.integers(0, 6)))
    ]
    return [*rows, rows[0]] if rows and draw(st.booleans()) else rows


def as_arrays(rows):
    indptr = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    indices = np.array([column for row in rows for column, _ in row], dtype=np.int64)
    return indptr, indices, np.array([value for row in rows for _, value in row], dtype=np.float64)


def project(rows, hyperplanes, form):
    width = -(-hyperplanes.n // 8) if form == "packed" else hyperplanes.n
    out = np.empty((len(rows), width), dtype=FORMS[form])
    project_rows(*as_arrays(rows), hyperplanes, form, out)
    return out


def assert_sides(rows, hyperplanes):
    expected = np.array([plain.bits(row, hyperplanes) for row in rows], dtype=np.uint8).reshape(
        -1, hyperplanes.n
    )
    np.testing.assert_array_equal(project(rows, hyperplanes, "bits"), expected)
    np.testing.assert_array_equal(
        project(rows, hyperplanes, "signs"), 2 * expected.astype(np.int8) - 1
    )
    np.testing.assert_array_equal(
        project(rows, hyperplanes, "packed"), np.packbits(expected, axis=1)
    )


@settings(max_examples=40)
@given(
    sparse_rows(),
    st.sampled_from(KINDS),
    st.integers(1, 75),
    st.sampled_from([1.0, 1.0, 0.5, 0.05]),
    st.integers(0, 2**64 - 1),
)
def test_bits_are_the_sides_of_the_hyperplanes(rows, kind, n, density, seed):
    hyperplanes = Hyperplanes.of(kind, n, density=1.0 if kind == "google" else density, seed=seed)
    assert_sides(rows, hyperplanes)


@given(sparse_rows(), st.sampled_from(KINDS), st.integers(1, 40))
def test_sums_are_scaled(rows, kind, n):
    hyperplanes = Hyperplanes.of(kind, n)
    result = project(rows, hyperplanes, "sums")
    for sums, row in zip(result, rows, strict=True):
        expected = np.array(plain.sums(row, hyperplanes)) * hyperplanes.scale
        if kind == "google":
            expected = expected / (sum(abs(value) for _, value in row) or 1.0)
        np.testing.assert_array_equal(sums, expected.astype(np.float32))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "values", [*([n] for n in range(254, 261)), [256, 1], [256, 2], [257, 1], [128, 128]]
)
def test_counts_around_one_byte(values, kind):
    hyperplanes = Hyperplanes.of(kind, 40, seed=1)
    row = [(7 * column + 3, float(value)) for column, value in enumerate(values)]
    assert project([row], hyperplanes, "bits")[0].tolist() == plain.bits(row, hyperplanes)
    expected = (
        np.array(plain.sums(row, hyperplanes))
        * hyperplanes.scale
        / (sum(values) if kind == "google" else 1)
    )
    np.testing.assert_array_equal(
        project([row], hyperplanes, "sums")[0], expected.astype(np.float32)
    )


@pytest.mark.parametrize("size", [258, 259, 4 * 258, 2**31 // 127, 2**31])
@pytest.mark.parametrize("n_columns", [1, 4, 257, 600])
def test_no_integer_overflows(size, n_columns):
    # The largest sums that each kind of accumulator may have to hold: all coefficients of the
    # largest size and sign.
    hyperplanes = Hyperplanes.of("normal", 32)
    table = coefficients(np.arange(40_000), hyperplanes)
    largest = np.flatnonzero(np.abs(table[:, 0]) == 127)[:n_columns]
    assert n_columns <= len(largest) or n_columns == 600
    values = np.full(len(largest), size // len(largest), dtype=np.float64)
    values[0] += size - values.sum()
    rows = [
        [
            (int(column), np.sign(table[column, 0]) * value)
            for column, value in zip(largest, values, strict=True)
        ]
    ]
    expected = np.float32(127.0 * size * hyperplanes.scale)
    assert project(rows, hyperplanes, "sums")[0, 0] == expected
    assert project(rows, hyperplanes, "bits").tolist() == [plain.bits(rows[0], hyperplanes)]


# One hyperplane; one and more vectors of them; whole tiles; and a tile with vectors and a byte
# behind it.
@pytest.mark.parametrize("n", [1, 32, 70, 160, 320, 399])
@pytest.mark.parametrize("kind", ["normal", "sign"])
def test_any_number_of_hyperplanes(n, kind):
    rng = np.random.default_rng(n)
    hyperplanes = Hyperplanes.of(kind, n)
    rows = [
        [(int(c), value) for c in np.unique(rng.integers(0, 50, 9))]
        for value in (1.0, 28.0, -3.0, 300.0, 0.1, 0.0)
    ]
    assert_sides(rows, hyperplanes)
    sums = np.array([plain.sums(row, hyperplanes) for row in rows]) * hyperplanes.scale
    np.testing.assert_array_equal(project(rows, hyperplanes, "sums"), sums.astype(np.float32))


@pytest.mark.parametrize(
    "limits", [{"_MAX_COLUMNS": 256}, {"_MAX_SLICE": 50}, {"_MAX_ENTRIES": 600, "_MAX_SLICE": 90}]
)
@pytest.mark.parametrize("scale", [1.0, -100.0, 0.1])
def test_rows_in_any_number_of_chunks(monkeypatch, limits, scale):
    rng = np.random.default_rng(0)
    hyperplanes = Hyperplanes.of("normal", 192)
    sizes = [700, 20, 300, 5, 0, 90, 256, 257, 20, 700]
    columns = [np.unique(rng.integers(0, 3000, size)) for size in sizes]
    rows = [[(int(c), scale * float(rng.integers(1, 4))) for c in row] for row in columns]
    expected = np.array([plain.sums(row, hyperplanes) for row in rows]) * hyperplanes.scale
    np.testing.assert_array_equal(project(rows, hyperplanes, "sums"), expected.astype(np.float32))
    for name, limit in limits.items():
        monkeypatch.setattr(_project_rows, name, limit)
    np.testing.assert_array_equal(project(rows, hyperplanes, "sums"), expected.astype(np.float32))


@pytest.mark.usefixtures("level")
@pytest.mark.parametrize("density", [1.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_every_instruction_set_gives_the_same(kind, density):
    rng = np.random.default_rng(0)
    hyperplanes = Hyperplanes.of(kind, 230, density=1.0 if kind == "google" else density)
    kinds = (
        rng.geometric(0.5, 70),
        rng.integers(-70_000, 70_000, 70),
        rng.normal(size=70),
        [1.0, -1.0],
    )
    rows = [[(3 * column, float(value)) for column, value in enumerate(values)] for values in kinds]
    assert_sides(rows, hyperplanes)
    sizes = [sum(abs(value) for _, value in row) if kind == "google" else 1.0 for row in rows]
    sums = (
        np.array([plain.sums(row, hyperplanes) for row in rows])
        * hyperplanes.scale
        / np.array(sizes)[:, np.newaxis]
    )
    np.testing.assert_array_equal(project(rows, hyperplanes, "sums"), sums.astype(np.float32))


@pytest.mark.parametrize("value", [300.0, 0.3])
def test_a_slice_of_zeros_before_others(monkeypatch, value):
    monkeypatch.setattr(_project_rows, "_MAX_SLICE", 8)
    hyperplanes = Hyperplanes.of("normal", 200)
    row = [(column, value * (column == 20)) for column in range(30)]
    sums = np.array(plain.sums(row, hyperplanes)) * hyperplanes.scale
    np.testing.assert_array_equal(
        project([row[:20], row], hyperplanes, "sums")[1], sums.astype(np.float32)
    )


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_32_bits_give_the_same(kind):
    indptr, columns, data = as_arrays(
        [[(7 * i, i + 1.0) for i in range(9)], [(7 * i, 300.0 - i) for i in range(9)]]
    )
    hyperplanes, outs = Hyperplanes.of(kind, 200), np.empty((2, 2, 200), dtype=np.float32)
    for out, dtype in zip(outs, (np.int64, np.int32), strict=True):
        project_rows(indptr, columns.astype(dtype), data, hyperplanes, "sums", out)
    np.testing.assert_array_equal(*outs)


def test_google_is_what_the_released_code_gives():
    # The texts, seeds and results of SgnnTest.test_project in sgnn_test.py of the released code.
    texts = [[b"^h", b"he", b"el", b"ll", b"lo", b"o$"], [b"^h", b"hi", b"i$"]]
    rows = [sorted((plain.fingerprint64(ngram) % PRIME, 1.0) for ngram in text) for text in texts]
    hyperplanes = Hyperplanes.of("google", 2)._replace(seeds=np.array([5, 7]))
    expected = [[0.448691, -0.238499], [-0.037561, 0.080748]]
    np.testing.assert_allclose(project(rows, hyperplanes, "sums"), expected, atol=1e-6)


ROWS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([0.0, -0.0, 1.0, 2.5])), max_size=3),
    max_size=40,
)


@given(ROWS)
def test_the_first_equal_row_is_found(rows):
    seen = {}
    expected = [seen.setdefault(repr(row), number) for number, row in enumerate(rows)]
    assert first_equal_rows(*as_arrays(rows)).tolist() == expected
