import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import LSHEmbedding
from sklearn_hashnlp.text import CharNgramFeaturizer, SGNNProjector


def made(n_tables, table_bits, embedding_dim=5, seed=0):
    module = LSHEmbedding(n_tables, table_bits, embedding_dim)
    torch.nn.init.normal_(module.tables.weight, generator=torch.Generator().manual_seed(seed))
    return module


def slow(module, projections):
    """Add up the rows one by one, found by their bits as text."""
    table = module.tables.weight.detach().double().numpy()
    vectors = np.zeros((len(projections), table.shape[1]))
    for row, projection in enumerate(projections.tolist()):
        for number in range(module.n_tables):
            part = projection[number * module.table_bits : (number + 1) * module.table_bits]
            bucket = int("".join("1" if value > 0 else "0" for value in part), 2)
            vectors[row] += table[number * 2**module.table_bits + bucket]
    return vectors


@given(
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(0, 3),
    st.integers(0, 6),
    st.sampled_from([torch.float32, torch.float64, torch.uint8]),
    st.integers(0, 99),
)
def test_the_rows_that_the_bits_say(n_tables, table_bits, n_more, n_words, dtype, seed):
    module = made(n_tables, table_bits, seed=seed)
    projections = torch.randn(n_words, n_tables * table_bits + n_more, generator=torch.Generator().manual_seed(seed))
    projections = (projections > 0).to(dtype) if dtype == torch.uint8 else projections.to(dtype)
    vectors = module(projections)
    assert vectors.dtype == torch.float32
    np.testing.assert_allclose(vectors.detach().numpy(), slow(module, projections), rtol=1e-5, atol=1e-5)


def test_tables_share_no_row():
    module = LSHEmbedding(3, 2, 1)
    everything = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 6)
    buckets = module.buckets(everything)
    assert [sorted(set(column.tolist())) for column in buckets.T] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]
    assert len(module.tables.weight) == 12
    assert module.buckets(torch.tensor([[1.0, 0.0, -1.0, 2.0, 0.0, 0.0]])).tolist() == [[2, 5, 8]]


def test_columns_in_any_memory_order():
    module = made(2, 3)
    for n_columns in (6, 9):
        projections = torch.randn(4, n_columns)
        assert torch.equal(module(projections.T.contiguous().T), module(projections))


def test_bits_and_sums_of_a_projector_have_the_same_buckets():
    words, module = ["cat", "cats", "dog", "é", "🙂"], made(4, 6)
    grams = CharNgramFeaturizer().transform(words)
    floats, bits = (
        torch.from_numpy(SGNNProjector(n_projections=4, n_bits=7, output=output, random_state=0).transform(grams))
        for output in ("float", "binary")
    )
    assert bits.dtype == torch.uint8
    assert bits.shape == floats.shape == (5, 28)
    assert torch.equal(module.buckets(bits), module.buckets(floats))


def test_only_the_rows_of_the_words_have_a_gradient():
    module = made(2, 3)
    projections = torch.randn(3, 6)
    module(projections).sum().backward()
    gradient = module.tables.weight.grad
    assert gradient.is_sparse
    assert set(gradient.coalesce().indices()[0].tolist()) == set(module.buckets(projections).flatten().tolist())


def test_it_starts_as_zeros():
    module = LSHEmbedding(2, 3, 4)
    assert not module(torch.randn(5, 6)).any()
    assert repr(module).startswith("LSHEmbedding(\n  n_tables=2, table_bits=3")


def test_too_few_columns_and_bad_sizes():
    with pytest.raises(ValueError, match="2 tables of 3 bits need projections of 6 columns or more, got 5"):
        LSHEmbedding(2, 3, 4)(torch.randn(2, 5))
    for sizes, name in (((0, 1, 1), "n_tables"), ((1, 0, 1), "table_bits"), ((1, 1, 0), "embedding_dim")):
        with pytest.raises(ValueError, match=f"{name} must be 1 or more, got 0"):
            LSHEmbedding(*sizes)
    with pytest.raises(ValueError, match="table_bits must be 31 or less, got 32"):
        LSHEmbedding(1, 32, 1)
