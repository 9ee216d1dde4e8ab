"""Hash embeddings against the paper's formula, written as plain loops."""

import io
from functools import partial

import pytest
import torch

from sklearn_hashnlp.nn import HashEmbedding

from ..oracles import hash_embedding as oracle
from . import hash_tables

IDS = [0, 1, 7, 7, 2**31 - 2, 123_456_789]
make = partial(hash_tables.make, HashEmbedding)
WIDE_IDS = [7, 7 + 2**32, 2**62 + 2**31, -1, -(2**63), 2**63 - 1]


@pytest.mark.parametrize("append_weight", [True, False])
@pytest.mark.parametrize("num_hashes", [1, 2, 3, 4])
@pytest.mark.parametrize("aggregation", ["sum", "concat", "median"])
@pytest.mark.parametrize("variant", ["improved", "paper", "standard"])
def test_vectors_follow_the_formula(variant, aggregation, num_hashes, append_weight):
    module = make(
        variant=variant, aggregation=aggregation, num_hashes=num_hashes, append_weight=append_weight
    )
    for ids in (IDS, WIDE_IDS):
        expected = torch.tensor([oracle.embed(key, module) for key in ids], dtype=torch.float64)
        torch.testing.assert_close(module(torch.tensor(ids)), expected)
    assert expected.shape[1] == module.output_dim


@pytest.mark.parametrize("variant", ["improved", "paper", "standard"])
def test_without_hash_rows_an_id_is_its_own_row(variant):
    module = make(variant=variant, hash_rows=False)
    ids = [0, 7, 39, 7]
    assert module.locate(torch.tensor(ids))[0].tolist() == ids
    expected = torch.tensor([oracle.embed(key, module) for key in ids], dtype=torch.float64)
    torch.testing.assert_close(module(torch.tensor(ids)), expected)
    for outside in (-1, 40):
        with pytest.raises(
            ValueError, match=rf"ids must be from 0 to 39, got .*{outside}.*Increase num_embeddings"
        ):
            module(torch.tensor([3, outside]))
    assert "hash_rows=False" in repr(module)
    assert "hash_rows" not in repr(make(variant=variant))
    message = (
        rf"trained with variant='{variant}', hash_rows=False, this module has .*hash_rows=True\."
    )
    with pytest.raises(ValueError, match=message):
        make(variant=variant).load_state_dict(module.state_dict())


def test_the_shape_of_the_ids_is_kept():
    module = make()
    ids = torch.tensor(IDS).reshape(2, 3)
    assert torch.equal(module(ids).flatten(0, 1), module(torch.tensor(IDS)))
    assert module(torch.empty((0, 4), dtype=torch.int64)).shape == (0, 4, module.output_dim)


def test_sparse_gradients_are_the_dense_ones():
    ids = torch.tensor(IDS)
    dense, sparse = make(), make(sparse=True)
    for module in (dense, sparse):
        module(ids).pow(3).sum().backward()
    assert sparse.pool.grad.is_sparse
    assert sparse.importance.grad.is_sparse
    torch.testing.assert_close(sparse.pool.grad.to_dense(), dense.pool.grad)
    torch.testing.assert_close(sparse.importance.grad.to_dense(), dense.importance.grad)


@pytest.mark.parametrize("frozen", ["pool", "importance"])
@pytest.mark.parametrize("sparse", [False, True])
def test_frozen_tables(frozen, sparse):
    module = make(sparse=sparse)
    getattr(module, frozen).requires_grad_(False)
    before = {name: table.clone() for name, table in module.named_parameters()}
    optimizer = torch.optim.SGD(
        [table for table in module.parameters() if table.requires_grad], lr=0.1
    )
    module(torch.tensor(IDS)).square().sum().backward()
    optimizer.step()
    changed = {
        name for name, table in module.named_parameters() if not torch.equal(table, before[name])
    }
    assert changed == {"pool", "importance"} - {frozen}


def test_initial_tables_and_reset_parameters():
    torch.manual_seed(0)
    module = HashEmbedding(100, 10, num_buckets=2000, pool_std=0.5, importance_init=2.0)
    assert module.pool.std().item() == pytest.approx(0.5, rel=0.05)
    assert (module.importance == 2).all()
    module.importance.data[3] = 7
    module.reset_parameters()
    assert (module.importance == 2).all()
    zeros = HashEmbedding(10**7, 20, num_buckets=10**6, pool_std=0.0, importance_init=0.0)
    sizes = {name: value.numel() for name, value in zeros.state_dict().items()}
    # no table of hash values
    assert sizes == {"pool": 20 * 10**6, "importance": 2 * 10**7, "_extra_state": 5}
    standard = HashEmbedding(10**7, 20, num_buckets=10**6, variant="standard", pool_std=0.0)
    assert sum(table.numel() for table in standard.parameters()) == 200_000_000
    assert standard.importance is None


@pytest.mark.parametrize("seed", [0, -1, 2**70 + 3])
def test_a_state_loads_into_equal_hash_functions(seed):
    module = torch.nn.Sequential(make(seed=seed))
    copy = torch.nn.Sequential(make(seed=seed % 2**64))
    torch.nn.init.zeros_(copy[0].pool)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    copy.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(copy(torch.tensor(IDS)), module(torch.tensor(IDS)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 6}, "trained with seed=5 .modulo 2[*][*]64., this module has seed=6"),
        (
            {"variant": "paper"},
            "trained with variant='improved', hash_rows=True, this module has variant='paper'",
        ),
    ],
)
def test_a_state_of_other_hash_functions_is_refused(options, message):
    state = torch.nn.Sequential(make()).state_dict()
    other = torch.nn.Sequential(make(**options))
    torch.nn.init.zeros_(other[0].pool)
    with pytest.raises(ValueError, match=message):
        other.load_state_dict(state)
    assert not other[0].pool.any()
    with pytest.raises(RuntimeError, match="_extra_state"):
        make().load_state_dict({})
    state["0._extra_state"][0] = 1
    with pytest.raises(
        ValueError, match="trained with hash specification 1, this module has hash specification 2"
    ):
        other.load_state_dict(state)


@pytest.mark.parametrize("variant", ["improved", "paper"])
def test_ids_are_hashed_in_transformed_and_compiled_programs(variant):
    module = make(variant=variant)
    torch.compiler.reset()
    compiled = torch.compile(module.locate, backend="aot_eager", fullgraph=True)
    for ids in (torch.tensor(IDS), torch.tensor(WIDE_IDS)):
        for found in (compiled(ids), torch.vmap(module.locate)(ids)):
            assert all(map(torch.equal, found, module.locate(ids)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_embeddings": 0}, "num_embeddings must be an integer from 1 to 2147483647, got 0"),
        (
            {"num_buckets": 2**31},
            "num_buckets must be an integer from 1 to 2147483647, got 2147483648",
        ),
        ({"num_hashes": 0}, "num_hashes must be an integer from 1"),
        (
            {"variant": "old"},
            "variant must be one of .*'improved', 'paper', 'standard'.*, got 'old'",
        ),
        (
            {"aggregation": "mean"},
            "aggregation must be one of .*'sum', 'concat', 'median'.*, got 'mean'",
        ),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


@pytest.mark.gpu
def test_cuda_agrees_with_the_cpu():
    module = make()
    expected = module(torch.tensor(IDS))
    torch.testing.assert_close(module.cuda()(torch.tensor(IDS).cuda()).cpu(), expected)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("variant", ["improved", "paper", "standard"])
def test_padding_is_zero_and_trains_nothing(variant, sparse):
    module, plain = (make(variant=variant, sparse=sparse, padding_idx=index) for index in (7, None))
    plain.load_state_dict(module.state_dict())
    ids = torch.tensor([[3, 7], [7, -1]])
    expected = plain(ids) * (ids != 7).unsqueeze(-1)
    torch.testing.assert_close(module(ids), expected)
    expected.square().sum().backward()
    module(ids).square().sum().backward()
    for parameter, other in zip(module.parameters(), plain.parameters(), strict=True):
        gradient, other_gradient = (
            p.grad.to_dense() if sparse else p.grad for p in (parameter, other)
        )
        torch.testing.assert_close(gradient, other_gradient)
    assert "padding_idx=7" in repr(module)


@pytest.mark.parametrize("variant", ["improved", "paper", "standard"])
def test_a_sparse_gradient_has_no_rows_of_padding(variant):
    module = make(variant=variant, sparse=True, padding_idx=7)
    module(torch.tensor([7, 7])).sum().backward()
    assert all(
        parameter.grad is None or not parameter.grad._indices().numel()
        for parameter in module.parameters()
    )


@pytest.mark.parametrize(
    "options",
    [{"padding_idx": 1.0}, {"padding_idx": True}, {"padding_idx": 2**63}]
    + [{"padding_idx": index, "hash_rows": False} for index in (-1, 40)],
    ids=str,
)
def test_a_padding_id_that_is_none_is_refused(options):
    with pytest.raises(ValueError, match="HashEmbedding: padding_idx must be None or an id"):
        make(**options)


def test_padding_of_narrow_integers():
    assert make(padding_idx=300)(torch.tensor([44], dtype=torch.uint8)).any()
    assert not make(padding_idx=44)(torch.tensor([44], dtype=torch.uint8)).any()
