"""NgramMemory against its formulas, written as loops over tokens."""

import copy
import math

import pytest
import torch
from torch.nn import functional

from sklearn_hashnlp.nn import NgramHashEmbedding, NgramMemory

from .layers import make, sequences

OPTIONS = {
    "default": {},
    "no gate": {"gate": False},
    "no convolution": {"kernel_size": 0},
    "addition": {"gate": False, "kernel_size": 0},
    "short": {"kernel_size": 2, "dilation": 1},
}
each_option = pytest.mark.parametrize("name", OPTIONS)


def make_memory(embedding=None, **options):
    embedding = make(padding_idx=None) if embedding is None else embedding
    torch.manual_seed(1)
    memory = NgramMemory(embedding, 5, dtype=torch.float64, **options)
    for name, parameter in memory.named_parameters():
        if not name.startswith("embedding"):
            torch.nn.init.normal_(parameter)
    return memory


def norm(vector, weight):
    return vector / (vector.square().mean() + torch.finfo(vector.dtype).eps).sqrt() * weight


def oracle(memory, hidden, ids, starts):
    """Compute the output of one sequence, token by token."""
    vectors = memory.embedding(ids[None], starts[None])[0]
    values, segment, segments = [], 0, []
    for h, e, token, start in zip(hidden, vectors, ids, starts, strict=True):
        segment += int(start) | int(token == memory.embedding.spec.boundary)
        segments.append(segment)
        value = memory.value.weight @ e
        if memory.key is not None:
            key = norm(memory.key.weight @ e, memory.key_norm.weight)
            value = value * torch.sigmoid(norm(h, memory.hidden_norm.weight) @ key / math.sqrt(len(h)))
        values.append(value)
    outputs = []
    for t, (h, value) in enumerate(zip(hidden, values, strict=True)):
        output = h + value
        if memory.conv is not None:
            total = torch.zeros_like(h)
            for tap, weight in enumerate(memory.conv):
                before = t - tap * memory.dilation
                if before >= 0 and segments[before] == segments[t]:
                    total += weight * norm(values[before], memory.conv_norm.weight)
            output = output + functional.silu(total)
        outputs.append(output)
    return torch.stack(outputs)


@each_option
def test_outputs_follow_the_formulas(name):
    memory = make_memory(**OPTIONS[name])
    ids, starts = sequences()
    hidden = torch.randn(*ids.shape, 5, dtype=torch.float64)
    expected = torch.stack([oracle(memory, *rows) for rows in zip(hidden, ids, starts, strict=True)])
    torch.testing.assert_close(memory(hidden, ids, starts), expected)


@each_option
def test_a_new_memory_changes_nothing_but_learns(name):
    embedding = NgramHashEmbedding(97, 8)
    memory = NgramMemory(embedding, 5, **OPTIONS[name])
    ids, _ = sequences()
    hidden = torch.randn(*ids.shape, 5)
    assert torch.equal(memory(hidden, ids), hidden)
    memory(hidden, ids).square().sum().backward()
    assert embedding.weight.grad.to_dense().any()


@each_option
def test_step_gives_what_the_whole_sequence_gives(name):
    memory = make_memory(**OPTIONS[name])
    ids, starts = sequences()
    hidden = torch.randn(*ids.shape, 5, dtype=torch.float64)
    whole, state, parts = memory(hidden, ids, starts), None, []
    for first, last in ((0, 1), (1, 8), (8, 8), (8, 20)):
        outputs, state = memory.step(hidden[:, first:last], ids[:, first:last], state, starts[:, first:last])
        parts.append(outputs)
    torch.testing.assert_close(torch.cat(parts, dim=1), whole)
    state = None
    for t in range(20):
        outputs, state = memory.step(hidden[:, t], ids[:, t], state, starts[:, t])
        torch.testing.assert_close(outputs, whole[:, t])


@each_option
def test_later_tokens_and_other_documents_change_nothing(name):
    memory = make_memory(**OPTIONS[name])
    ids, starts = sequences()
    hidden = torch.randn(*ids.shape, 5, dtype=torch.float64)
    before = memory(hidden, ids, starts)
    changed_ids, changed_hidden = ids.clone(), hidden.clone()
    changed_ids[:, 10:] = 11
    changed_hidden[:, 10:] += 1
    assert torch.equal(memory(changed_hidden, changed_ids, starts)[:, :10], before[:, :10])
    starts[:, 10] = True
    torch.testing.assert_close(
        memory(hidden, ids, starts)[:, 10:], memory(hidden[:, 10:], ids[:, 10:], starts[:, 10:]), rtol=0, atol=1e-12
    )


@each_option
def test_gradcheck(name):
    memory = make_memory(make(sparse=False, padding_idx=None), **OPTIONS[name])
    ids, starts = sequences(2, 5)
    hidden = torch.randn(*ids.shape, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda *_: memory(hidden, ids, starts), (hidden, *memory.parameters()))


@each_option
def test_compiled_saved_and_copied(name):
    memory = make_memory(make(sparse=False), **OPTIONS[name])
    ids, starts = sequences()
    hidden = torch.randn(*ids.shape, 5, dtype=torch.float64)
    expected = memory(hidden, ids, starts)
    torch.compiler.reset()
    traced = torch.compile(memory, backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(traced(hidden, ids, starts), expected)
    other = make_memory(make(sparse=False), **OPTIONS[name])
    torch.nn.init.zeros_(other.embedding.weight)
    other.load_state_dict(copy.deepcopy(memory.state_dict()))
    assert torch.equal(other(hidden, ids, starts), expected)


def test_layers_share_tables():
    embedding = make(padding_idx=None)
    first, second = make_memory(embedding), make_memory(embedding, gate=False)
    ids, _ = sequences()
    hidden = torch.randn(*ids.shape, 5, dtype=torch.float64)
    second(first(hidden, ids), ids).sum().backward()
    assert embedding.weight.grad.to_dense().any()


def test_empty_batches():
    memory = make_memory()
    for shape in ((0, 5), (3, 0)):
        ids, hidden = torch.ones(shape, dtype=torch.int64), torch.zeros(*shape, 5, dtype=torch.float64)
        assert memory(hidden, ids).shape == memory.step(hidden, ids)[0].shape == (*shape, 5)
    assert memory.step(torch.zeros(0, 5, dtype=torch.float64), torch.ones(0, dtype=torch.int64))[0].shape == (0, 5)


def test_wrong_inputs_are_named():
    memory = make_memory()
    for hidden, ids in (
        (torch.zeros(2, 5), torch.ones(3, dtype=int)),
        (torch.zeros(6, 5), torch.ones(2, 3, dtype=int)),
    ):
        with pytest.raises(ValueError, match="NgramMemory: hidden must have shape"):
            memory.step(hidden, ids)
    ids = torch.ones(2, 3, dtype=torch.int64)
    with pytest.raises(ValueError, match=r"NgramMemory: hidden must have shape \(2, 3, 5\).* got \(2, 3, 4\)"):
        memory(torch.zeros(2, 3, 4), ids)
    with pytest.raises(TypeError, match="NgramMemory: embedding must be an NgramHashEmbedding, got 100"):
        NgramMemory(100, 8)
    with pytest.raises(ValueError, match="NgramMemory: hidden_dim must be 1 or more, got 0"):
        NgramMemory(make(), 0)
    with pytest.raises(ValueError, match="NgramMemory: kernel_size must be 0 or more, got -1"):
        NgramMemory(make(), 4, kernel_size=-1)
    with pytest.raises(ValueError, match="NgramMemory: dilation must be 1 or more, got 0"):
        NgramMemory(make(), 4, dilation=0)
    assert "gate=True, kernel_size=4, dilation=4" in repr(memory)


def test_autocast():
    memory = NgramMemory(make(dtype=torch.float32), 8)
    torch.nn.init.normal_(memory.conv)
    ids, starts = sequences()
    hidden = torch.randn(*ids.shape, 8)
    expected = memory(hidden, ids, starts)
    for dtype in (torch.float32, torch.bfloat16):
        with torch.autocast("cpu", torch.bfloat16):
            outputs = memory(hidden.to(dtype), ids, starts)
        assert outputs.dtype == dtype
        torch.testing.assert_close(outputs.float(), expected, rtol=0.1, atol=0.1)
    half = NgramMemory(make(dtype=torch.float32), 8, dtype=torch.bfloat16)  # with tables of another dtype
    assert half(hidden.bfloat16(), ids).dtype == torch.bfloat16
