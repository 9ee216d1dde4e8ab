"""Bags of hash embeddings against the sum over the ids of a document, one number at a time."""

from functools import partial

import pytest
import torch

from sklearn_hashnlp.nn import HashEmbeddingBag

from ..oracles import hash_embedding as oracle
from . import hash_tables

make = partial(hash_tables.make, HashEmbeddingBag)
DOCUMENTS = [[3, 999, 3], [], [2**31 - 2], [5, 6, 7, 8]]
WEIGHTS = [[1.0, 2.0, -0.5], [], [3.0], [1.0, 0.0, -2.0, 1.5]]


def pack(documents, weights):
    offsets = [0]
    for document in documents:
        offsets.append(offsets[-1] + len(document))
    ids = torch.tensor([key for document in documents for key in document], dtype=torch.int64)
    flat = torch.tensor([weight for row in weights for weight in row], dtype=torch.float64)
    return ids, torch.tensor(offsets), flat


@pytest.mark.parametrize("normalize", [None, "l1", "l2"])
@pytest.mark.parametrize("append_weight", [True, False])
@pytest.mark.parametrize("aggregation", ["sum", "concat", "median"])
@pytest.mark.parametrize(
    ("variant", "num_hashes"), [("improved", 2), ("improved", 3), ("paper", 4), ("standard", 2)]
)
def test_documents_follow_the_formula(variant, num_hashes, aggregation, append_weight, normalize):
    options = {"variant": variant, "num_hashes": num_hashes, "aggregation": aggregation}
    bag = make(**options, append_weight=append_weight, normalize=normalize)
    documents = zip(DOCUMENTS, WEIGHTS, strict=True)
    expected = torch.stack([oracle.embed_document(ids, weights, bag) for ids, weights in documents])
    torch.testing.assert_close(bag(*pack(DOCUMENTS, WEIGHTS)), expected)
    assert not expected[1].any()


def test_weights_default_to_one():
    bag = make()
    ids, offsets, weights = pack(DOCUMENTS, WEIGHTS)
    assert torch.equal(bag(ids, offsets), bag(ids, offsets, torch.ones_like(weights)))


@pytest.mark.parametrize(
    ("aggregation", "normalize"), [("sum", "l2"), ("concat", None), ("median", "l1")]
)
def test_gradients_are_those_of_finite_differences(aggregation, normalize):
    bag = make(
        num_hashes=3, aggregation=aggregation, normalize=normalize, num_embeddings=12, num_buckets=7
    )
    ids, offsets, weights = pack(DOCUMENTS, WEIGHTS)
    weights.requires_grad_()

    def through(pool, importance, weights):
        return torch.func.functional_call(
            bag, {"pool": pool, "importance": importance}, (ids, offsets, weights)
        )

    assert torch.autograd.gradcheck(through, (bag.pool, bag.importance, weights))


WRONG = {
    "first": ([1, 2, 3], [1, 3], 3, "not decrease.*; the first is 1"),
    "too few": ([1, 2, 3], [0, 2], 3, "end with the number of ids; for 3 ids the last is 2"),
    "too many": ([1, 2, 3], [0, 9], 3, "for 3 ids the last is 9"),
    "falling": ([1, 2, 3], [0, 900, 2, 3], 3, "; 900 comes before 2"),
    "negative": ([1, 2, 3], [0, -7, 3], 3, "; 0 comes before -7"),
    "no offsets": ([1, 2, 3], [], 3, r"offsets must start with 0"),
    "nested offsets": ([1, 2, 3], [[0, 3]], 3, r"offsets must have shape .*, got \(1, 2\)"),
    "nested ids": ([[1, 2, 3]], [0, 1], 3, r"ids must have shape \(n_values,\), .*, got \(1, 3\)"),
    "one weight": ([1, 2, 3], [0, 3], 1, r"shape \(3,\), a weight for each id, got \(1,\)"),
    "offsets of floats": (
        [1],
        [0.0, 1.0],
        1,
        r"offsets must have dtype int64 or int32, got torch.float32",
    ),
    "many weights": ([1, 2, 3], [0, 3], 4, r"shape \(3,\), a weight for each id, got \(4,\)"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_documents_are_refused(fault):
    ids, offsets, n_weights, message = WRONG[fault]
    bag = make(normalize="l1")
    ids, offsets = (
        torch.tensor(ids),
        torch.tensor(offsets) if offsets else torch.empty(0, dtype=torch.int64),
    )
    with pytest.raises((TypeError, ValueError), match=message):
        bag(ids, offsets, torch.ones(n_weights, dtype=torch.float64))


@pytest.mark.parametrize(
    "aggregation",
    ["sum", *(pytest.param(name, marks=pytest.mark.slow) for name in ("concat", "median"))],
)
def test_compiled_and_exported_bags_agree_and_still_refuse_wrong_offsets(aggregation):
    bag = make(aggregation=aggregation, normalize="l2")
    inputs = pack(DOCUMENTS, WEIGHTS)
    expected = bag(*inputs).detach()
    wrong = inputs[0], torch.tensor([0, 900, 3, 3, 8]), inputs[2]
    torch.compiler.reset()
    for traced in (
        torch.compile(bag, backend="aot_eager", fullgraph=True),
        torch.export.export(bag, inputs).module(),
    ):
        torch.testing.assert_close(traced(*inputs).detach(), expected)
        with pytest.raises(RuntimeError, match="offsets must start with 0, not decrease"):
            traced(*wrong)


def test_norms_are_checked():
    with pytest.raises(ValueError, match=r"normalize must be one of .*'l1', 'l2'.*, got 'max'"):
        make(normalize="max")


def test_a_bag_on_the_meta_device():
    bag = make(device="meta")
    assert bag(
        torch.zeros(5, dtype=torch.int64, device="meta"),
        torch.zeros(3, dtype=torch.int64, device="meta"),
    ).shape


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aggregation": "median"}, "aggregation='sum', this module has aggregation='median'"),
        ({"normalize": "l1"}, "normalize=None, this module has normalize='l1'"),
    ],
)
def test_tables_are_not_loaded_into_a_bag_that_reads_them_otherwise(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options).load_state_dict(make().state_dict())


@pytest.mark.gpu
@pytest.mark.parametrize("aggregation", ["sum", "concat", "median"])
def test_cuda_agrees_with_the_cpu(aggregation):
    bag = make(aggregation=aggregation, normalize="l2", sparse=True)
    inputs = pack(DOCUMENTS, WEIGHTS)
    expected = bag(*inputs)
    expected.square().sum().backward()
    gradient = bag.pool.grad.to_dense()
    bag.zero_grad()
    bag.cuda()
    out = bag(*(part.cuda() for part in inputs))
    out.square().sum().backward()
    torch.testing.assert_close(out.cpu(), expected)
    torch.testing.assert_close(bag.pool.grad.to_dense().cpu(), gradient)


@pytest.mark.parametrize(
    ("aggregation", "sparse", "normalize"),
    [("sum", True, "l2"), ("concat", True, "l1"), ("median", False, None)],
)
def test_padding_is_left_out_of_the_sums(aggregation, sparse, normalize):
    options = {
        "num_buckets": 11,
        "aggregation": aggregation,
        "sparse": sparse,
        "normalize": normalize,
    }
    bag, plain = (HashEmbeddingBag(40, 3, **options, padding_idx=index) for index in (7, None))
    plain.load_state_dict(bag.state_dict())
    padded = bag(torch.tensor([7, 3, 7, 5, 7]), torch.tensor([0, 3, 4, 5]))
    short = plain(torch.tensor([3, 5]), torch.tensor([0, 1, 2, 2]))
    torch.testing.assert_close(padded, short)
    weights = torch.tensor([2.0, 0.5, 1.0])
    padded = bag(torch.tensor([3, 7, 5]), torch.tensor([0, 3]), weights)
    torch.testing.assert_close(
        padded, plain(torch.tensor([3, 5]), torch.tensor([0, 2]), weights[[0, 2]])
    )


def test_a_sparse_gradient_of_a_bag_has_no_rows_of_padding():
    bag = HashEmbeddingBag(40, 3, num_buckets=11, sparse=True, padding_idx=7)
    bag(torch.tensor([7, 7]), torch.tensor([0, 1, 2])).sum().backward()
    assert all(
        parameter.grad is None or not parameter.grad._indices().numel()
        for parameter in bag.parameters()
    )
