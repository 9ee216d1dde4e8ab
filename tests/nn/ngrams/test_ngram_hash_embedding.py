"""NgramHashEmbedding against its description, written as plain loops, and its compiled form against
plain torch.
"""

import copy
import io
import pickle
import resource
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import NgramHashEmbedding
from sklearn_hashnlp.nn.ngrams._scheme import next_primes
from sklearn_hashnlp.optim import RowwiseAdagrad, RowwiseAdam, RowwiseSGD

from ...oracles import ngram_embedding as oracle
from .layers import OPTIONS, make, sequences

each_option = pytest.mark.parametrize("name", OPTIONS)


def projected(layer, vectors):
    return vectors if layer.projection is None else layer.projection(vectors)


@each_option
def test_vectors_follow_the_description(name):
    layer = make(**OPTIONS[name])
    ids, starts = sequences()
    expected = torch.stack(
        [oracle.embed(*rows, layer) for rows in zip(ids.tolist(), starts.tolist(), strict=True)]
    )
    torch.testing.assert_close(layer(ids, starts), projected(layer, expected))
    torch.testing.assert_close(layer(ids.int(), starts), projected(layer, expected))
    assert layer(ids).shape == (*ids.shape, layer.embedding_dim)


@each_option
def test_the_compiled_form_is_that_of_torch_with_its_gradients(name):
    layer = make(**OPTIONS[name])
    ids, starts = sequences()
    compiled = layer(ids, starts)
    plain = projected(layer, layer._embed_by_torch(ids, starts, 0))
    torch.testing.assert_close(compiled, plain)
    upstream = torch.randn_like(compiled)
    tables = [table for table in (layer.weight, layer.importance) if table is not None]
    for ours, theirs in zip(
        torch.autograd.grad(compiled, tables, upstream),
        torch.autograd.grad(plain, tables, upstream),
        strict=True,
    ):
        assert ours.is_sparse
        torch.testing.assert_close(ours.to_dense(), theirs.to_dense())


def test_which_passes_are_compiled(monkeypatch):
    ids, _ = sequences()
    monkeypatch.setattr(
        NgramHashEmbedding, "_embed_by_torch", lambda self, ids, *_: torch.zeros(*ids.shape, 6)
    )
    assert make()(ids).any()
    dense = make(sparse=False)
    assert not dense(ids).any()  # its gradients are dense, and have second derivatives
    with torch.no_grad():
        assert dense(ids).any()


def test_second_derivatives_need_dense_gradients():
    ids, _ = sequences()
    dense, sparse = make(sparse=False, mode="concat"), make(mode="concat")
    (gradient,) = torch.autograd.grad(dense(ids).pow(2).sum(), dense.weight, create_graph=True)
    gradient.square().sum().backward()
    assert dense.weight.grad.any()
    with pytest.raises(
        RuntimeError, match="Hash embeddings with sparse=True have first derivatives only"
    ):
        torch.autograd.grad(sparse(ids).pow(2).sum(), sparse.weight, create_graph=True)


@pytest.mark.parametrize("name", ["importance and signs", "concat, hashes", "xor"])
def test_gradcheck(name):
    layer = make(5, **OPTIONS[name], sparse=False)
    ids, starts = sequences(2, 6)
    tables = [table for table in (layer.weight, layer.importance) if table is not None]
    assert torch.autograd.gradcheck(lambda *_: layer(ids, starts), tables)


@pytest.mark.parametrize("optimizer", [RowwiseAdagrad, RowwiseAdam, RowwiseSGD])
def test_a_step_of_the_optimizers_is_that_of_plain_torch(optimizer):
    ours = make(num_hashes=2, importance=True)
    theirs = copy.deepcopy(ours)
    ids, starts = sequences()
    steps = [optimizer(layer.parameters(), lr=0.1).step for layer in (ours, theirs)]
    for _ in range(3):
        for layer, vectors in (
            (ours, ours(ids, starts)),
            (theirs, theirs._embed_by_torch(ids, starts, 0)),
        ):
            layer.zero_grad()
            vectors.square().sum().backward()
        for table, other in ((ours.weight, theirs.weight), (ours.importance, theirs.importance)):
            # Plain torch has gradients of zero for n-grams that do not exist: rows that must not be
            # touched.
            rows = table.grad.coalesce().indices()
            values = other.grad.to_dense()[rows[0]]
            other.grad = torch.sparse_coo_tensor(rows, values, table.shape, check_invariants=True)
        for step in steps:
            step()
        torch.testing.assert_close(ours.weight, theirs.weight)
        torch.testing.assert_close(ours.importance, theirs.importance)


@each_option
def test_step_gives_what_the_whole_sequence_gives(name):
    layer = make(**OPTIONS[name])
    ids, starts = sequences()
    whole = layer(ids, starts)
    state = None
    parts = []
    for first, last in ((0, 1), (1, 2), (2, 9), (9, 9), (9, 10), (10, 20)):
        vectors, state = layer.step(ids[:, first:last], state, starts[:, first:last])
        parts.append(vectors)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)
    state = None
    for t in range(ids.shape[1]):
        vectors, state = layer.step(ids[:, t], state, starts[:, t])
        torch.testing.assert_close(vectors, whole[:, t])
    assert state[0].shape == (len(ids), layer.spec.max_order - 1)


@each_option
def test_a_later_token_changes_nothing_before(name):
    layer = make(**OPTIONS[name])
    ids, starts = sequences()
    before = layer(ids, starts)
    for t in (1, 10, 19):
        changed = ids.clone()
        changed[:, t] = (changed[:, t] + 1) % 12
        after = layer(changed, starts)
        assert torch.equal(after[:, :t], before[:, :t])
        assert not torch.equal(after[:, t], before[:, t])


def test_a_new_layer_adds_nothing_but_learns():
    for options in OPTIONS.values():
        options = {"num_embeddings": 23, "orders": (1, 2, 4), **options}
        layer = NgramHashEmbedding(options.pop("num_embeddings"), 6, **options)
        ids, _ = sequences()
        assert not layer(ids).any()
        layer(ids).sum().backward()
        assert layer.weight.grad.to_dense().any()


def test_histories_do_not_cross_boundaries():
    layer = make(orders=(2,), padding_idx=None)
    packed = torch.tensor([[5, 6, 7, 8, 9]])  # 7 is the boundary
    alone = torch.tensor([[7, 8, 9]])
    assert torch.equal(layer(packed)[:, 2:], layer(alone))
    assert not layer(packed)[0, 2].any()  # (6, 7) reaches over it
    assert layer(packed)[0, 3].any()  # (7, 8) begins with it
    mask = torch.tensor([[False, True, False, False, False]])
    assert not layer(packed, mask)[0, 1].any()
    assert torch.equal(layer(packed, mask)[:, 2:], layer(packed)[:, 2:])


def test_padding_is_in_no_ngram_even_if_it_is_the_boundary():
    ids = torch.tensor([[3, 5, 6, 3, 8, 9, 10]])
    for boundary in (None, 3):
        layer = make(orders=(1, 2), boundary=boundary)
        vectors = layer(ids)
        assert not vectors[0, [0, 3]].any()
        assert torch.equal(vectors[:, 1:3], layer(ids[:, 1:3]))
        assert torch.equal(vectors[:, 4:], layer(ids[:, 4:]))


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0), (3, 1)])
def test_short_and_empty_sequences(shape):
    for options in OPTIONS.values():
        layer = make(**options)
        vectors = layer(torch.full(shape, 5))
        assert vectors.shape == (*shape, 6)
        assert (
            vectors.shape
            == layer._embed_by_torch(torch.full(shape, 5), None, 0).view(*shape, 6).shape
        )
        vectors.sum().backward()
    layer = make(orders=(3, 4))
    assert not layer(torch.full((2, 2), 5)).any()  # no n-gram is that short


def test_the_number_of_rows():
    assert make().spec.sizes == (23, 23, 23)
    assert make(num_heads=2, scheme="multiplicative_xor").spec.sizes == (23, 29, 31, 37, 41, 43)
    assert next_primes(2**20, 3) == [1048583, 1048589, 1048601]
    assert make(num_embeddings=[8, 16, 32], scheme="multiplicative_xor").spec.sizes == (8, 16, 32)
    assert make(num_embeddings=[1, 1, 1])(torch.tensor([[5, 5]])).any()


@given(
    ids=st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=8),
    starts=st.lists(st.booleans(), min_size=8, max_size=8),
    name=st.sampled_from(["hashes", "importance and signs", "unequal", "xor"]),
    seed=st.integers(-(2**63), 2**63 - 1),
)
def test_any_ids_have_the_same_rows_in_kernels_torch_and_plain_integers(ids, starts, name, seed):
    layer = make(**OPTIONS[name], seed=seed)
    starts = starts[: len(ids)]
    expected = oracle.embed(ids, starts, layer)
    tensors = torch.tensor([ids]), torch.tensor([starts])
    torch.testing.assert_close(layer(*tensors)[0], expected)
    torch.testing.assert_close(layer._embed_by_torch(*tensors, 0)[0], expected)


@pytest.mark.parametrize(
    "name",
    [
        "importance and signs",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("concat, hashes", "xor", "polynomial")
        ),
    ],
)
def test_compiled_by_torch(name):
    layer = make(**OPTIONS[name], sparse=False)
    ids, starts = sequences()
    torch.compiler.reset()
    traced = torch.compile(layer, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(traced(ids, starts), layer(ids, starts))
    traced(ids, starts).sum().backward()
    exported = torch.export.export(layer, (ids, starts)).module()
    torch.testing.assert_close(exported(ids, starts), layer(ids, starts))


def test_autocast_and_half_tables():
    layer = make(mode="concat", dtype=torch.float32)
    ids, _ = sequences()
    with torch.autocast("cpu", torch.bfloat16):
        vectors = layer(ids)
    assert vectors.dtype == torch.bfloat16  # of the projection
    torch.testing.assert_close(vectors.float(), layer(ids), rtol=0.05, atol=0.05)
    half = copy.deepcopy(layer).bfloat16()  # no kernel has it
    torch.testing.assert_close(half(ids).float(), layer(ids), rtol=0.05, atol=0.05)


def test_states_copies_and_pickles_are_the_same_layer():
    layer = make(num_hashes=2, importance=True)
    ids, _ = sequences()
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert torch.equal(other(ids), layer(ids))
    buffer = io.BytesIO()
    torch.save(layer.state_dict(), buffer)
    buffer.seek(0)
    other = make(num_hashes=2, importance=True)
    torch.nn.init.zeros_(other.weight)
    other.load_state_dict(torch.load(buffer, weights_only=True))
    assert torch.equal(other(ids), layer(ids))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 6}, "saved with seed=5, this layer has seed=6"),
        ({"scheme": "multiplicative_xor"}, "saved with scheme='multiply_shift'"),
        ({"signs": True}, "saved with signs=False"),
        ({"boundary": 8}, "saved with boundary=7"),
        ({"orders": (1, 2, 5)}, r"saved with orders=\[1, 2, 4\]"),
    ],
)
def test_the_state_of_other_hash_functions_is_refused(options, message):
    layer = make(**({"num_embeddings": [23, 23, 23]} if "scheme" in options else {}) | options)
    torch.nn.init.zeros_(layer.weight)
    with pytest.raises(ValueError, match=message):
        layer.load_state_dict(make().state_dict())
    assert not layer.weight.any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"orders": ()}, "orders must be integers"),
        ({"orders": (0, 2)}, "orders must be integers"),
        ({"orders": (3, 2)}, "orders must ascend"),
        ({"orders": 2}, "orders must be integers"),
        ({"num_heads": 0}, "num_heads must be an integer of at least 1"),
        ({"num_hashes": 1.5}, "num_hashes must be an integer of at least 1"),
        ({"num_embeddings": 0}, "num_embeddings must be positive integers"),
        ({"num_embeddings": [5, 0, 5]}, "num_embeddings must be positive integers"),
        (
            {"num_embeddings": [5, 5]},
            r"an integer or a list of 3, one for each order and head, got \[5, 5\]",
        ),
        (
            {"num_embeddings": 1e6},
            "an integer or a list of 3, one for each order and head, got 1000000.0",
        ),
        (
            {"num_embeddings": 10**15, "scheme": "multiplicative_xor"},
            "sum of at most 2147483647 rows",
        ),
        (
            {"num_embeddings": [5] * 6, "num_heads": 2, "scheme": "multiplicative_xor"},
            "heads of an order have the same",
        ),
        ({"embedding_dim": 8.0}, "embedding_dim must be an integer of at least 1, got 8.0"),
        ({"embedding_dim": 0}, "embedding_dim must be an integer of at least 1, got 0"),
        ({"seed": 1.7}, "seed must be an integer, got 1.7"),
        ({"seed": None}, "seed must be an integer, got None"),
        ({"importance": "no"}, "importance must be True or False, got 'no'"),
        ({"signs": 1}, "signs must be True or False, got 1"),
        ({"num_embeddings": 2**31}, "sum of at most 2147483647 rows"),
        ({"mode": "mean"}, "mode must be one of"),
        ({"mode": "concat", "num_heads": 4}, "embedding_dim must be a multiple of 12"),
        ({"scheme": "engram"}, "scheme must be 'multiply_shift'"),
        ({"scheme": "polynomial"}, "scheme must be"),
        ({"scheme": ("polynomial", 1)}, "scheme must be"),
        (
            {"scheme": "multiplicative_xor", "signs": True},
            "num_hashes must be 1, and importance and signs False",
        ),
        ({"scheme": ("polynomial", 5)}, "boundary must be None or an integer from 0 to 4, got 7"),
        ({"padding_idx": -1}, "padding_idx must be None or an integer from 0 to .*, got -1"),
    ],
)
def test_wrong_parameters_are_named(options, message):
    with pytest.raises(ValueError, match=f"NgramHashEmbedding.*{message}"):
        make(**options)


@pytest.mark.parametrize(
    ("ids", "starts", "error", "message"),
    [
        (
            torch.tensor([[1.0]]),
            None,
            TypeError,
            "ids must be a tensor of dtype int64 or int32, got torch.float32",
        ),
        (
            [[1, 2]],
            None,
            TypeError,
            r"ids must be a tensor of dtype int64 or int32, got \[\[1, 2\]\]",
        ),
        (
            torch.tensor([[-1]]),
            None,
            ValueError,
            r"ids must be from 0 to 9223372036854775807 .* got -1 to -1",
        ),
        (
            torch.tensor([1, 2]),
            None,
            ValueError,
            r"ids must have shape \(batch, time\), got \(2,\)",
        ),
        (
            torch.tensor([[1, 2]]),
            torch.tensor([[True]]),
            ValueError,
            "starts must have dtype bool and the shape of ids",
        ),
        (torch.tensor([[1]]), torch.tensor([[1]]), ValueError, "starts must have dtype bool"),
    ],
)
def test_wrong_inputs_are_named(ids, starts, error, message):
    with pytest.raises(error, match=f"NgramHashEmbedding: {message}"):
        make()(ids, starts)


def test_ids_out_of_range_for_a_polynomial():
    layer = make(scheme=("polynomial", 50))
    layer(torch.tensor([[49]]))
    with pytest.raises(
        ValueError, match="ids must be from 0 to 49 with scheme='polynomial', got 3 to 50"
    ):
        layer(torch.tensor([[3, 50]]))


def test_a_state_of_another_batch_is_refused():
    layer = make()
    _, state = layer.step(torch.tensor([1, 2, 3]))
    with pytest.raises(ValueError, match="state has 3 sequences, but ids has 2"):
        layer.step(torch.tensor([1, 2]), state)


def test_the_tables_take_memory_when_they_are_trained():
    before = memory_in_use()
    layer = NgramHashEmbedding(5 * 10**8, 2, orders=(2,))  # 4 GB that nothing writes
    layer(torch.tensor([[1, 2]])).sum().backward()
    RowwiseAdagrad(layer.parameters(), lr=0.1).step()
    assert memory_in_use() - before < 10**9
    assert "1 tables with 500000000 rows" in repr(layer)


def memory_in_use():
    """Return the bytes of memory that this process has written."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_numbers_of_numpy_are_parameters_too():
    layer = make(
        num_heads=np.int64(2),
        num_hashes=np.int32(2),
        importance=np.bool_(True),
        boundary=np.int64(7),
    )
    assert make(num_heads=2, num_hashes=2, importance=True).load_state_dict(layer.state_dict())
    pickle.loads(pickle.dumps(layer))


def test_reset_parameters():
    layer = NgramHashEmbedding(
        50, 6, num_hashes=2, importance=True, mode="concat", device="meta"
    ).to_empty(device="cpu")
    layer.reset_parameters()
    assert not layer.weight.any()
    assert (layer.importance == 1).all()
    ids, _ = sequences()
    assert not layer(ids).any()


def test_a_state_follows_its_sequences():
    layer = make()
    ids, _ = sequences()
    _, state = layer.step(ids[:, :5])
    order = torch.tensor([2, 0, 0, 3])
    reordered = tuple(part[order] for part in state)
    torch.testing.assert_close(layer.step(ids[order, 5], reordered)[0], layer(ids)[order, 5])


@pytest.mark.gpu
@each_option
def test_cuda_agrees_with_the_cpu(name):
    layer = make(**OPTIONS[name], sparse=False)
    ids, starts = sequences()
    expected = layer(ids, starts)
    on_device = copy.deepcopy(layer).cuda()
    torch.testing.assert_close(on_device(ids.cuda(), starts.cuda()).cpu(), expected)


def test_results_do_not_depend_on_the_layout_of_ids():
    layer, (ids, starts) = make(), sequences()
    expected = layer(ids, starts)
    assert torch.equal(layer(ids.T.contiguous().T, starts.T.contiguous().T), expected)
    wide = torch.from_numpy(np.repeat(ids.numpy(), 2, axis=1))
    assert torch.equal(layer(wide[:, ::2], starts), expected)
