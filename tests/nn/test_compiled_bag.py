"""Bags by compiled kernels against plain torch, whose autograd is the oracle."""

from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sklearn_hashnlp.nn import HashEmbeddingBag
from sklearn_hashnlp.nn._compiled_bag import CompiledBag, runs_compiled
from sklearn_hashnlp.optim import RowwiseAdagrad

from . import hash_tables

# An id twice in a document and in others, an empty document, one whose counts are all zero, ids of
# more than 32 bits.
IDS = torch.tensor([3, 999, 3, 2**31 - 2, 5, -6, 7 + 2**32, 8, 3, 3])
OFFSETS = torch.tensor([0, 3, 3, 4, 8, 10, 10])
COUNTS = torch.tensor([1.0, 2.0, -0.5, 3.0, 1.0, 0.0, -2.0, 1.5, 0.0, 0.0], dtype=torch.float64)
INPUTS = IDS, OFFSETS, COUNTS
NAMES = ("pool", "importance")


def make(**options):
    bag = hash_tables.make(HashEmbeddingBag, **options)
    if bag.importance is not None:
        # a feature that no training row had
        bag.importance.data[bag.locate(torch.tensor([999]))[0]] = 0
    return bag


def make_both(**options):
    """Make the compiled module and the oracle, with the same tables."""
    return make(sparse=True, **options), make(**options)


def is_compiled(documents):
    return type(documents.grad_fn).__name__ == "CompiledBagBackward"


def assert_the_same(compiled, plain, *inputs, rtol=1e-10, atol=1e-12):
    ours, theirs = compiled(*inputs), plain(*inputs)
    compiled.zero_grad()
    plain.zero_grad()
    assert is_compiled(ours)
    assert not is_compiled(theirs)
    torch.testing.assert_close(ours, theirs, rtol=rtol, atol=atol)
    upstream = torch.randn(
        theirs.shape, dtype=theirs.dtype, generator=torch.Generator().manual_seed(1)
    )
    for documents in (ours, theirs):
        documents.backward(upstream)
    for name in NAMES:
        table = getattr(plain, name)
        if table is None:
            continue
        gradient = getattr(compiled, name).grad
        assert gradient.is_sparse
        assert (gradient._indices().diff() > 0).all()
        torch.testing.assert_close(gradient.to_dense(), table.grad, rtol=rtol, atol=atol)


@pytest.mark.parametrize("variant", ["improved", "paper", "standard"])
def test_ids_that_are_their_own_rows(variant):
    compiled, plain = make_both(variant=variant, hash_rows=False, num_embeddings=1000)
    ids, offsets, counts = INPUTS
    assert_the_same(compiled, plain, ids % 1000, offsets, counts)
    for bag in (compiled, plain):
        with pytest.raises(
            ValueError, match="HashEmbeddingBag: with hash_rows=False ids must be from 0 to 999"
        ):
            bag(torch.full_like(ids, 1000), offsets, counts)


OPTIONS = st.fixed_dictionaries(
    {
        "variant": st.sampled_from(["improved", "paper", "standard"]),
        "num_hashes": st.integers(1, 4),
        "aggregation": st.sampled_from(["sum", "concat"]),
        "append_weight": st.booleans(),
        "normalize": st.sampled_from([None, "l1", "l2"]),
        "num_embeddings": st.sampled_from([1, 2, 50, 10_000]),
        "num_buckets": st.sampled_from([1, 2, 30, 5000]),
        "embedding_dim": st.sampled_from([1, 2, 5, 7, 8, 9, 17, 33]),
    }
)
COUNT = st.sampled_from([0.0, 1.0, 1.0, 2.0, -1.0]) | st.integers(-64, 64).map(
    lambda count: count / 16
)


@given(
    options=OPTIONS,
    documents=st.lists(
        st.lists(st.tuples(st.integers(0, 5) | st.integers(), COUNT), max_size=8), max_size=8
    ),
)
def test_any_documents_and_any_options(options, documents):
    ids = [(key + 2**63) % 2**64 - 2**63 for document in documents for key, _ in document]
    counts = [count for document in documents for _, count in document]
    offsets = torch.tensor([0, *map(len, documents)]).cumsum(0)
    inputs = (
        torch.tensor(ids, dtype=torch.int64),
        offsets,
        torch.tensor(counts, dtype=torch.float64),
    )
    compiled, plain = make_both(**options)
    for each in (inputs, INPUTS):
        # Where the weights of a document cancel, only what is absolute can be asked.
        assert_the_same(compiled, plain, *each, atol=1e-10)


@pytest.mark.parametrize(
    "dtype", [torch.int8, torch.uint8, torch.int32, torch.uint32, torch.uint64]
)
def test_ids_and_offsets_of_other_integers(dtype):
    compiled, plain = make_both(normalize="l2")
    ids = torch.tensor([3, 100, 3, 7]).to(dtype)
    assert_the_same(compiled, plain, ids, torch.tensor([0, 1, 4], dtype=torch.int32))


def test_ids_must_be_integers():
    for dtype in (torch.float64, torch.bool):
        with pytest.raises(TypeError, match=f"ids must have an integer dtype, got {dtype}"):
            make(sparse=True)(IDS.to(dtype), OFFSETS, COUNTS)


def test_inputs_and_gradients_need_not_be_contiguous():
    compiled, plain = make_both(normalize="l2")
    ids, counts = IDS.repeat_interleave(2)[::2], COUNTS.repeat_interleave(3)[::3]
    assert not ids.is_contiguous()
    assert_the_same(compiled, plain, ids, OFFSETS.repeat_interleave(2)[::2], counts)
    for bag in (compiled, plain):
        bag.zero_grad()
        bag(*INPUTS).sum().backward()  # one number, expanded
    torch.testing.assert_close(
        compiled.pool.grad.to_dense(), plain.pool.grad, rtol=1e-10, atol=1e-12
    )


def test_single_precision_is_close_to_plain_torch():
    torch.manual_seed(0)
    ids = torch.randint(0, 500, (3000,))
    offsets = torch.arange(0, 3001, 50)
    counts = torch.rand(3000)
    for normalize in (None, "l1", "l2"):
        compiled, plain = make_both(normalize=normalize, dtype=torch.float32, embedding_dim=20)
        assert_the_same(compiled, plain, ids, offsets, counts, rtol=1e-4, atol=1e-4)
        assert compiled.pool.grad.dtype == torch.float32


def test_gradients_that_are_not_needed_are_not_computed():
    for frozen, trained in (NAMES, NAMES[::-1]):
        compiled, plain = make_both(normalize="l2")
        for bag in (compiled, plain):
            getattr(bag, frozen).requires_grad_(False)
            bag(*INPUTS).square().sum().backward()
        assert getattr(compiled, frozen).grad is None
        torch.testing.assert_close(
            getattr(compiled, trained).grad.to_dense(),
            getattr(plain, trained).grad,
            rtol=1e-10,
            atol=1e-12,
        )
    compiled.requires_grad_(False)
    assert not compiled(*INPUTS).requires_grad
    with torch.no_grad():
        assert not make(sparse=True)(*INPUTS).requires_grad


def test_grad_equals_backward_and_can_run_twice():
    bag = make(sparse=True, normalize="l2")
    loss = bag(*INPUTS).square().sum()
    results = [
        torch.autograd.grad(loss, (bag.pool, bag.importance), retain_graph=True) for _ in range(2)
    ]
    loss.backward()
    for gradients in results:
        for name, gradient in zip(NAMES, gradients, strict=True):
            assert torch.equal(gradient.to_dense(), getattr(bag, name).grad.to_dense())


# of 1 the gradient that comes in is a constant, and torch sees no graph
@pytest.mark.parametrize("power", [1, 2])
def test_a_second_derivative_is_refused(power):
    bag = make(sparse=True, normalize="l2")
    loss = bag(*INPUTS).pow(power).sum()
    with pytest.raises(
        RuntimeError, match="first derivatives only, but create_graph=True needs more"
    ):
        torch.autograd.grad(loss, bag.pool, create_graph=True)


@pytest.mark.parametrize("name", [*NAMES, "counts", "by an optimizer"])
def test_a_change_before_the_backward_pass_is_detected(name):
    bag, counts = make(sparse=True), COUNTS.clone()
    loss = bag(IDS, OFFSETS, counts).square().sum()
    if name == "by an optimizer":
        loss.backward(retain_graph=True)
        RowwiseAdagrad(bag.parameters()).step()
    else:
        with torch.no_grad():
            (counts if name == "counts" else getattr(bag, name)).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_what_the_kernels_do_not_compute_runs_in_plain_torch():
    assert not is_compiled(make(sparse=True, aggregation="median")(*INPUTS))
    for dtype in (torch.float16, torch.bfloat16):
        half = make(sparse=True, dtype=dtype)
        assert not runs_compiled(half.pool, IDS, COUNTS.to(dtype))
        assert not runs_compiled(half.pool.float(), IDS, COUNTS.to(dtype))
    counts = COUNTS.clone().requires_grad_()
    bag = make(sparse=True)
    assert not is_compiled(bag(IDS, OFFSETS, counts))
    bag(IDS, OFFSETS, counts).sum().backward()
    assert counts.grad.any()
    with torch.no_grad():
        assert runs_compiled(bag.pool, IDS, counts)


@pytest.fixture
def _no_kernels(monkeypatch):
    def refuse(*arguments):
        raise AssertionError("The kernels ran.")

    monkeypatch.setattr(CompiledBag, "apply", refuse)


@pytest.mark.usefixtures("_no_kernels")
@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_transformed_programs_run_in_plain_torch():
    bag, plain = make_both(normalize="l2")
    with pytest.raises(AssertionError, match="kernels ran"):
        bag(*INPUTS)

    def through(bag, pool):
        return torch.func.functional_call(bag, {"pool": pool}, INPUTS).square().sum()

    pool = plain.pool.detach()
    for transform, argument in ((torch.func.grad, pool), (torch.vmap, torch.stack([pool, -pool]))):
        ours, theirs = (transform(partial(through, each))(argument) for each in (bag, plain))
        torch.testing.assert_close(ours.to_dense(), theirs)


@pytest.mark.usefixtures("_no_kernels")
@pytest.mark.filterwarnings(
    "ignore:.torch.jit:DeprecationWarning", "ignore::torch.jit.TracerWarning"
)
@pytest.mark.parametrize(
    "trace",
    [
        partial(torch.compile, backend="aot_eager", fullgraph=True),
        lambda bag: torch.export.export(bag, INPUTS).module(),
        lambda bag: torch.jit.trace(bag, INPUTS, check_trace=False),
    ],
    ids=["compiled", "exported", "TorchScript"],
)
def test_traced_programs_run_in_plain_torch(trace):
    bag, plain = make_both(normalize="l2")
    torch.compiler.reset()
    torch.testing.assert_close(trace(bag)(*INPUTS), plain(*INPUTS))
