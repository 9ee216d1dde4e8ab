"""SGNNProjector as a scikit-learn transformer: inputs, outputs, parameters; its arithmetic is the
kernels'.
"""

import re

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity

from sklearn_hashnlp.kernels.projections._hyperplanes import Hyperplanes, coefficients
from sklearn_hashnlp.persistence import ModelFormatError, load_model, save_model
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector, _sgnn_projector
from tests.golden._register import texts as docstrings

TEXTS = ["a word", "words", "", "a word", "日本語 🙂", "the the the the"]
KINDS = ["normal", "sign", "google"]


@pytest.fixture(scope="module", name="X")
def _rows():
    return CharNgramFeaturizer().transform(TEXTS)


def plain_projection(X, n, seed=0):
    """Multiply by the coefficients of all columns, which only a narrow matrix allows."""
    hyperplanes = Hyperplanes.of("normal", n, seed=seed)
    sums = X @ coefficients(np.arange(X.shape[1]), hyperplanes)
    bits = np.where(sums == 0, hyperplanes.ties[:n], sums > 0) * (X != 0).any(axis=1)[:, np.newaxis]
    return bits.astype(np.uint8), (sums * hyperplanes.scale).astype(np.float32)


def test_outputs():
    rows = np.random.default_rng(0).integers(-3, 4, (20, 9)).astype(np.float64)
    rows[7] = 0
    bits, sums = plain_projection(rows, 21, seed=5)
    projector = SGNNProjector(n_projections=3, n_bits=7, random_state=5)
    packed, sign = np.packbits(bits, axis=1), 2 * bits.astype(np.int8) - 1
    for output, expected in (("binary", bits), ("sign", sign), ("packed", packed), ("float", sums)):
        result = projector.set_params(output=output).transform(rows)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


def test_a_row_of_zeros_is_all_zero_bits():
    # no values, and values of zero
    rows = sparse.csr_matrix(([0.0, 0.0], [3, 5], [0, 0, 2]), shape=(2, 10))
    for output, expected in (("binary", 0), ("sign", -1), ("packed", 0), ("float", 0)):
        assert (SGNNProjector(output=output).transform(rows) == expected).all()
    assert not SGNNProjector().transform(CharNgramFeaturizer().transform([""])).any()


def test_blocks_of_rows_do_not_show(X, monkeypatch):
    expected = SGNNProjector().transform(X)
    monkeypatch.setattr(_sgnn_projector, "_MAX_ROWS", 2)
    for n_jobs in (None, 2, -1):
        np.testing.assert_array_equal(SGNNProjector(n_jobs=n_jobs).transform(X), expected)
    monkeypatch.setattr(_sgnn_projector, "_MAX_VALUES", 1)
    np.testing.assert_array_equal(SGNNProjector().transform(X), expected)


@pytest.mark.parametrize("dtype", [bool, np.uint16, np.float16, np.float32])
def test_any_kind_of_numbers(dtype):
    rows = np.array([[1, 0, 1, 0], [0, 1, 1, 1]])
    expected = SGNNProjector().transform(rows)
    np.testing.assert_array_equal(SGNNProjector().transform(rows.astype(dtype)), expected)
    if dtype is not np.float16:  # scipy has none
        np.testing.assert_array_equal(
            SGNNProjector().transform(sparse.csr_matrix(rows.astype(dtype))), expected
        )


def test_columns_beyond_32_bits():
    indices = np.array([5, 2**31 - 1, 2**40, 2**62], dtype=np.int64)
    rows = sparse.csr_array(
        (np.ones(4), indices, np.array([0, 4], dtype=np.int64)), shape=(1, 2**62 + 1)
    )
    sums = coefficients(indices, Hyperplanes.of("normal", 1120)).sum(axis=0)
    expected = np.where(sums == 0, Hyperplanes.of("normal", 1120).ties, sums > 0)
    np.testing.assert_array_equal(SGNNProjector().transform(rows)[0], expected)
    narrow = sparse.csr_matrix((np.ones(2), [0, 2**31 - 2], [0, 2]), shape=(1, 2**31 - 1))
    assert SGNNProjector().transform(narrow).shape == (1, 1120)


def test_duplicates_are_added_and_the_input_is_left_as_it_is():
    indices, data = np.array([7, 3, 7, 1]), np.array([1.0, 2.0, 3.0, -1.0])
    rows = sparse.csr_matrix((data.copy(), indices.copy(), [0, 3, 4]), shape=(2, 9))
    plain = np.array([[0, 0, 0, 2, 0, 0, 0, 4, 0], [0, -1, 0, 0, 0, 0, 0, 0, 0]], dtype=np.float64)
    np.testing.assert_array_equal(SGNNProjector().transform(rows), SGNNProjector().transform(plain))
    np.testing.assert_array_equal(rows.indices, indices)
    np.testing.assert_array_equal(rows.data, data)


@pytest.mark.parametrize("make", [np.array, sparse.csr_matrix])
@pytest.mark.parametrize("hyperplanes", KINDS)
def test_no_sum_of_finite_values_leaves_the_numbers(make, hyperplanes):
    projector = SGNNProjector(output="float", hyperplanes=hyperplanes)
    rows = np.array([[1e30, -1e30, 1e30], [-1e30, -1e30, 0.0]])
    assert np.isfinite(projector.transform(make(rows))).all()
    for size in (1e31, -1e308):
        with pytest.raises(
            ValueError,
            match=(
                rf"takes values up to 1e\+30, got one of size {re.escape(f'{abs(size):g}')}.*Scale "
                r"X down"
            ),
        ):
            projector.transform(make(size / 1e30 * rows))


@pytest.mark.parametrize("method", ["fit", "transform"])
def test_the_released_codes_projection_has_no_density(method):
    with pytest.raises(ValueError, match=r"which is dense\. Got density=0\.5; set density=1\.0"):
        getattr(SGNNProjector(hyperplanes="google", density=0.5), method)(np.ones((1, 2)))


# Of specification 1. If these change, so must PROJECTION_SPECIFICATION.
GOLDEN = {
    "normal": [[161, 135, 27, 146, 201, 135, 204], [201, 131, 217, 39, 129, 167, 240]],
    "sign": [[189, 76, 30, 236, 124, 228, 102], [137, 77, 124, 214, 93, 70, 118]],
    "google": [[144, 42, 79, 194, 117, 95, 12], [184, 254, 122, 248, 181, 70, 6]],
}


@pytest.mark.parametrize("hyperplanes", KINDS)
def test_recorded_bits(X, hyperplanes):
    packed = SGNNProjector(n_projections=4, output="packed", hyperplanes=hyperplanes).transform(
        X[[0, 4]]
    )
    assert packed.tolist() == GOLDEN[hyperplanes]


@pytest.mark.parametrize("density", [1.0, 0.3])
def test_bits_differ_as_often_as_the_angle_says(density):
    words = sorted({word for text in docstrings()[:200] for word in text.split() if len(word) > 2})
    first, second = np.random.default_rng(0).permutation(len(words))[:1200].reshape(2, 600)
    rows = CharNgramFeaturizer().transform(words)
    angles = np.arccos(cosine_similarity(rows)[first, second].clip(-1, 1)) / np.pi
    shares = []  # of differing bits, for each of 20 x 1120 hyperplanes
    for seed in range(20):
        bits = SGNNProjector(density=density, random_state=seed).transform(rows)
        shares.append((bits[first] != bits[second]).mean(axis=0))
    error = np.std(shares) / np.sqrt(np.size(shares))
    assert abs(np.mean(shares) - angles.mean()) < 4 * error < 0.01


@pytest.mark.parametrize(
    ("hyperplanes", "output"), [("normal", "binary"), ("sign", "packed"), ("google", "float")]
)
def test_another_device_gives_the_same(X, hyperplanes, output):
    projector = SGNNProjector(n_projections=3, hyperplanes=hyperplanes, output=output)
    expected = projector.transform(X)
    # the first of torch's CPUs, and so torch
    found = projector.set_params(device="cpu:0").transform(X)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("device", ["gpu", "cuda:99"])
def test_a_device_that_is_not_there_is_told_with_what_to_do(X, device):
    message = (
        rf"SGNNProjector\(device='{device}'\) needs a device that torch .* does not find\. Set "
        r"device='auto'.*\.$"
    )
    with pytest.raises(RuntimeError, match=message):
        SGNNProjector(device=device).transform(X)


@pytest.mark.gpu
@pytest.mark.parametrize("hyperplanes", KINDS)
@pytest.mark.parametrize("output", ["binary", "sign", "packed", "float"])
def test_cuda_gives_the_same(X, hyperplanes, output):
    projector = SGNNProjector(hyperplanes=hyperplanes, output=output)
    expected = projector.transform(X)
    np.testing.assert_array_equal(projector.set_params(device="cuda").transform(X), expected)


def test_a_model_of_another_specification_is_refused(tmp_path, monkeypatch):
    save_model(SGNNProjector(), tmp_path)
    monkeypatch.setattr(_sgnn_projector, "PROJECTION_SPECIFICATION", 2)
    with pytest.raises(
        ModelFormatError, match=r"version 1 of the projections, and this version .* has 2"
    ):
        load_model(tmp_path)
