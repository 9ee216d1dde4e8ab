"""Word embeddings: the table as torch's, projections as signs times weights, hashed tables row by
row.
"""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from sklearn_hashnlp.nn._word_embeddings import LSHEmbedding, ProjectedEmbedding, WordTable


@pytest.mark.parametrize(
    ("sparse", "dtype"),
    [(True, torch.float32), (True, torch.float64), (False, torch.float32), (True, torch.float16)],
)
def test_table_is_torchs_embedding(sparse, dtype):
    table = WordTable(50, 3, sparse=sparse, dtype=dtype)
    plain = nn.Embedding(50, 3, _weight=table.weight.detach().clone())
    ids = torch.randint(0, 50, (7, 4), generator=torch.Generator().manual_seed(0))
    upstream = torch.randn((7, 4, 3), generator=torch.Generator().manual_seed(1)).to(dtype)
    assert torch.equal(table(ids), plain(ids))
    (table(ids) * upstream).sum().backward()
    (plain(ids) * upstream).sum().backward()
    assert table.weight.grad.is_sparse is sparse
    tolerance = 1e-2 if dtype == torch.float16 else 1e-6
    assert torch.allclose(table.weight.grad.to_dense(), plain.weight.grad, atol=tolerance)


def test_table_has_each_row_once_in_its_sparse_gradient():
    table = WordTable(50, 3, sparse=True)
    table(torch.tensor([[7, 3], [7, 7]])).sum().backward()
    indices = table.weight.grad._indices()[0]
    assert indices.tolist() == [3, 7]


def test_table_refuses_ids_out_of_range():
    with pytest.raises(IndexError):
        WordTable(5, 2, sparse=True)(torch.tensor([5]))


def test_table_detects_ids_that_change_before_the_backward_pass():
    table, ids = WordTable(5, 2, sparse=True), torch.tensor([1, 2])
    total = table(ids).sum()
    ids.fill_(4)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


def test_table_in_functorch_transforms():
    table = WordTable(5, 2, sparse=True)
    ids = torch.tensor([1, 1, 3])

    def total(weight):
        return torch.func.functional_call(table, {"weight": weight}, (ids,)).square().sum()

    total(table.weight).backward()
    gradient = torch.func.grad(total)(table.weight.detach())
    torch.testing.assert_close(gradient.to_dense(), table.weight.grad.to_dense())


@pytest.mark.parametrize("sparse", [True, False])
def test_table_has_second_derivatives(sparse):
    table = WordTable(5, 2, sparse=sparse, dtype=torch.float64)
    ids = torch.tensor([[1, 1], [3, 2]])
    (gradient,) = torch.autograd.grad(table(ids).pow(3).sum(), table.weight, create_graph=True)
    if not sparse:
        assert gradient.requires_grad
        return
    gradient.square().sum().backward()
    times = torch.bincount(ids.flatten(), minlength=5)[:, None]
    # The square of 3 n w**2, differentiated.
    torch.testing.assert_close(
        table.weight.grad.to_dense(), 36 * times**2 * table.weight.detach() ** 3
    )


def test_table_ignores_the_default_device():
    table = WordTable(5, 2, sparse=True)
    with torch.device("meta"):
        table(torch.tensor([1, 3], device="cpu")).sum().backward()
    assert table.weight.grad.device.type == "cpu"


RNG = np.random.default_rng(0)


def words_of(bits, ids):
    """Return ids and packed bits as the module reads them."""
    packed = np.packbits(bits, axis=1)
    codes = np.zeros((len(bits), 8 * (1 + -(-bits.shape[1] // 64))), dtype=np.uint8)
    codes[:, :8] = np.asarray(ids, dtype=np.int64)[:, None].view(np.uint8)
    codes[:, 8 : 8 + packed.shape[1]] = packed
    return torch.from_numpy(codes.view(np.int64))


def signs_times_weights(layer, bits):
    signs = torch.from_numpy(np.where(bits, 1.0, -1.0)) / np.sqrt(layer.n_bits)
    return signs @ layer.linear.weight.double().T


@pytest.mark.parametrize("n_bits", [1, 64, 65, 1120])
def test_projected_vectors_are_signs_times_weights(n_bits):
    bits = RNG.integers(0, 2, (6, n_bits))
    chosen = RNG.integers(0, 6, (5, 4))
    layer = ProjectedEmbedding(n_bits, 3)
    words = words_of(bits, range(6))[torch.from_numpy(chosen)]
    vectors, expected = layer(words), signs_times_weights(layer, bits)[torch.from_numpy(chosen)]
    assert vectors.shape == (5, 4, 3)
    torch.testing.assert_close(vectors.double(), expected, rtol=1e-5, atol=1e-6)
    upstream = torch.from_numpy(RNG.normal(size=(5, 4, 3)))
    (vectors * upstream).sum().backward()
    signs = torch.from_numpy(np.where(bits, 1.0, -1.0))[torch.from_numpy(chosen)] / np.sqrt(n_bits)
    expected_gradient = torch.einsum("abi,abj->ij", upstream, signs)
    torch.testing.assert_close(
        layer.linear.weight.grad.double(), expected_gradient, rtol=1e-4, atol=1e-5
    )


def test_projected_words_are_multiplied_once(monkeypatch):
    layer = ProjectedEmbedding(20, 3)
    rows = []
    monkeypatch.setattr(
        layer.linear, "forward", lambda signs: rows.append(len(signs)) or signs[:, :3]
    )
    words = words_of(RNG.integers(0, 2, (6, 20)), [5, 3, 9, 1, 7, 0])
    layer(words[torch.tensor([[0, 1], [1, 1], [0, 4]])])
    assert rows == [3]


def test_projected_words_that_share_an_id_keep_their_bits():
    bits = RNG.integers(0, 2, (3, 70))
    layer = ProjectedEmbedding(70, 4)
    torch.testing.assert_close(
        layer(words_of(bits, [8, 8, 8])).double(),
        signs_times_weights(layer, bits),
        rtol=1e-5,
        atol=1e-6,
    )


def test_projected_vectors_are_initialized_as_a_table():
    torch.manual_seed(0)
    bits = RNG.integers(0, 2, (200, 1120))
    assert ProjectedEmbedding(1120, 64)(words_of(bits, range(200))).std().item() == pytest.approx(
        0.1, rel=0.1
    )


def test_projected_embedding_refuses_wrong_sizes():
    with pytest.raises(ValueError, match=r"1120 bits in 19 numbers of 64 bits each, got 2"):
        ProjectedEmbedding(1120, 4)(torch.zeros(3, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match="n_bits must be an integer of at least 1, got 0"):
        ProjectedEmbedding(0, 4)


@pytest.mark.gpu
def test_projected_vectors_on_cuda():
    layer = ProjectedEmbedding(1120, 8)
    words = words_of(RNG.integers(0, 2, (6, 1120)), range(6))[
        torch.from_numpy(RNG.integers(0, 6, (5, 4)))
    ]
    expected = layer(words)
    torch.testing.assert_close(
        layer.to("cuda")(words.to("cuda")).cpu(), expected, rtol=1e-4, atol=1e-6
    )


def make_lsh(n_tables, table_bits, embedding_dim=5, seed=0, key_bits=None):
    module = LSHEmbedding(n_tables, table_bits, embedding_dim, key_bits)
    torch.nn.init.normal_(module.tables.weight, generator=torch.Generator().manual_seed(seed))
    return module


def sum_of_rows(module, projections):
    """Sum the rows one by one, selected by their bits as text."""
    table = module.tables.weight.detach().double().numpy()
    vectors = np.zeros((len(projections), table.shape[1]))
    for row, projection in enumerate(projections.tolist()):
        for number in range(module.n_tables):
            part = projection[number * module.key_bits : (number + 1) * module.key_bits]
            bucket = int("".join("1" if value > 0 else "0" for value in part), 2)
            if module.key_bits > module.table_bits:
                bucket = bucket * 0x9E3779B97F4A7C15 % 2**64 // 2 ** (64 - module.table_bits)
            vectors[row] += table[number * 2**module.table_bits + bucket]
    return vectors


@given(
    st.integers(1, 4),
    st.integers(1, 5),
    st.integers(0, 3),
    st.integers(0, 6),
    st.sampled_from([None, None, 7, 33, 62]),
    st.sampled_from([torch.float32, torch.float64, torch.uint8]),
    st.integers(0, 99),
)
def test_lsh_sums_the_rows_of_its_buckets(
    n_tables, table_bits, n_more, n_words, key_bits, dtype, seed
):
    module = make_lsh(n_tables, table_bits, seed=seed, key_bits=key_bits)
    n_columns = n_tables * (key_bits or table_bits) + n_more
    projections = torch.randn(n_words, n_columns, generator=torch.Generator().manual_seed(seed))
    projections = (projections > 0).to(dtype) if dtype == torch.uint8 else projections.to(dtype)
    vectors = module(projections)
    assert vectors.dtype == torch.float32
    np.testing.assert_allclose(
        vectors.detach().numpy(), sum_of_rows(module, projections), rtol=1e-5, atol=1e-5
    )


def test_words_of_similar_spelling_have_rows_of_their_own_with_longer_keys():
    projections = torch.ones(49, 48)
    projections[torch.arange(48), torch.arange(48)] = -1  # one bit differs
    assert len(set(make_lsh(1, 16, key_bits=48).buckets(projections).flatten().tolist())) == 49
    assert len(set(make_lsh(1, 16).buckets(projections).flatten().tolist())) == 17


def test_lsh_tables_share_no_row():
    module = LSHEmbedding(3, 2, 1)
    everything = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0])] * 6)
    buckets = module.buckets(everything)
    assert [sorted(set(column.tolist())) for column in buckets.T] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9, 10, 11],
    ]
    assert len(module.tables.weight) == 12
    assert module.buckets(torch.tensor([[1.0, 0.0, -1.0, 2.0, 0.0, 0.0]])).tolist() == [[2, 5, 8]]


def test_lsh_reads_any_memory_order():
    module = make_lsh(2, 3)
    for n_columns in (6, 9):
        projections = torch.randn(4, n_columns)
        assert torch.equal(module(projections.T.contiguous().T), module(projections))


def test_lsh_is_compiled_by_torch():
    module, projections = make_lsh(2, 3), torch.randn(5, 40)
    torch.compiler.reset()
    torch.testing.assert_close(
        torch.compile(module, backend="eager")(projections), module(projections)
    )


def test_lsh_is_initialized_with_zeros():
    module = LSHEmbedding(2, 3, 4)
    assert not module(torch.randn(5, 6)).any()


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((2, 3, 4), "2 tables of 3 bits need projections of 6 columns or more, got 5"),
        ((2, 3, 4, 7), "2 tables of 7 bits need projections of 14 columns or more, got 5"),
    ],
)
def test_lsh_refuses_wrong_sizes(sizes, message):
    with pytest.raises(ValueError, match=message):
        LSHEmbedding(*sizes)(torch.randn(2, 5))
